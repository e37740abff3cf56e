//! `ropeline ctl`: an operator's verbs over the admin API. One verb is one request; the answer is shown as a
//! table for people, or as it came for scripts.

mod args;
mod client;
mod show;
mod words;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;

pub use args::{CtlArgs, Verb};

use super::exit::{FAILURE, OK, USAGE};
use client::{Client, Failure};

/// Looks an environment variable up; an argument so that tests need not change their process.
pub type Env<'a> = &'a (dyn Fn(&str) -> Option<String> + Send + Sync);

/// Runs one verb; the exit code. Answers go to `out`, everything else to `err`.
pub async fn run(
    args: CtlArgs,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
    env: Env<'_>,
) -> u8 {
    match answer(&args, env).await {
        Ok(text) => {
            // A reader that went away (`| head`) is no failure of the verb.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            OK
        }
        Err((code, text)) => {
            let _ = writeln!(err, "ropeline ctl: {text}");
            code
        }
    }
}

async fn answer(args: &CtlArgs, env: Env<'_>) -> Result<String, (u8, String)> {
    let request = words::request(&args.verb).map_err(|text| (USAGE, text))?;
    let client = client(args, env).map_err(|text| (USAGE, text))?;
    let body = client.send(&request).await.map_err(|failure: Failure| (FAILURE, failure.to_string()))?;
    if args.json {
        return Ok(format!("{}\n", body.trim_end()));
    }
    show::answer(&args.verb, &body).map_err(|error| (FAILURE, client.not_ours(&error)))
}

/// Address and token: option, then environment, then default.
fn client(args: &CtlArgs, env: Env<'_>) -> Result<Client, String> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let url = args.url.clone().or_else(|| set("ROPELINE_ADMIN_URL"));
    let file = args.token_file.clone().or_else(|| set("ROPELINE_ADMIN_TOKEN_FILE").map(PathBuf::from));
    Client::new(url.as_deref().unwrap_or(client::DEFAULT_URL), file)
}

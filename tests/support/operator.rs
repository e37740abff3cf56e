//! An operator at the admin API, and at the command line.

use std::io;

use serde_json::{Value, json};

use super::http::{Ask, Reply};
use super::process::{self, Said};
use super::ropeline::Ropeline;

impl Ropeline {
    /// A request to the admin API with the operator's token.
    pub async fn operate(&self, method: &str, rest: &str, body: Option<Value>) -> io::Result<Reply> {
        let ask = Ask::new(method, &format!("/v1/rooms/{}{rest}", self.room))
            .with("authorization", &format!("Bearer {}", self.home.operator));
        body.iter().fold(ask, |ask, body| ask.json(body)).send(self.admin()).await
    }

    /// Pauses the room.
    pub async fn pause(&self, reason: &str) {
        let reply = self.operate("POST", "/pause", Some(json!({"reason": reason}))).await.unwrap();
        assert!(reply.status < 300, "pause: {} {}", reply.status, reply.text());
    }

    /// Lets it go on.
    pub async fn resume(&self) {
        let reply = self.operate("POST", "/resume", None).await.unwrap();
        assert!(reply.status < 300, "resume: {} {}", reply.status, reply.text());
    }

    /// `ropeline ctl ...` with the address and the operator's token in its environment.
    pub async fn ctl(&self, args: &[&str]) -> Said {
        let token = self.home.file("operator.token", &self.home.operator);
        let args: Vec<&str> = std::iter::once("ctl").chain(args.iter().copied()).collect();
        let env = [
            ("ROPELINE_ADMIN_URL", format!("http://{}", self.admin())),
            ("ROPELINE_ADMIN_TOKEN_FILE", token.display().to_string()),
        ];
        let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
        process::ropeline_with(self.home.path(), &args, &env).await
    }
}

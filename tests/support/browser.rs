//! A real browser: the distribution's Chromium, driven headless through its WebDriver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tempfile::TempDir;

use super::eventually::within;
use super::ports;
use super::process::Process;

const HINT: &str = "The stories drive a real browser: install it with `apt-get install chromium chromium-driver` \
                    (or your system's packages) so that `chromedriver` and `chromium` are on the PATH.";

const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,760",
];

/// A browser with an empty profile.
pub struct Browser {
    pub client: Client,
    _driver: Process,
    _profile: TempDir,
}

impl Browser {
    /// Starts one, with scripts or without, that prefers this language.
    pub async fn start(scripts: bool, language: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let port = ports::free();
        let mut command = Command::new("chromedriver");
        command.arg(format!("--port={port}"));
        let log = profile.path().join("driver.log");
        let driver = Process::start("chromedriver", &mut command, &log, HINT);
        let mut flags: Vec<String> = FLAGS.iter().map(|f| (*f).to_owned()).collect();
        flags.push(format!("--user-data-dir={}", profile.path().join("profile").display()));
        flags.push(format!("--lang={language}"));
        if !scripts {
            flags.push("--blink-settings=scriptEnabled=false".to_owned());
        }
        let options = json!({"args": flags, "prefs": {"intl.accept_languages": language}});
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options});
        let wanted = wanted.as_object().unwrap().clone();
        let address = format!("http://{}", ports::at(port));
        let client = within("a browser", Duration::from_secs(60), async || {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(wanted.clone()).connect(&address).await.map_err(|e| format!("{e}; {HINT}"))
        })
        .await;
        Self { client, _driver: driver, _profile: profile }
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Waits until the page shows an element.
    pub async fn until(&self, css: &str, patience: Duration) {
        within(&format!("the page shows {css}"), patience, async || {
            match self.client.find(Locator::Css(css)).await {
                Ok(_) => Ok(()),
                Err(e) => Err(format!("{e}; {}", self.client.source().await.unwrap_or_default())),
            }
        })
        .await;
    }

    /// Whether the page shows an element now.
    pub async fn shows(&self, css: &str) -> bool {
        self.client.find(Locator::Css(css)).await.is_ok()
    }

    /// The page's text.
    pub async fn text(&self) -> String {
        self.client.find(Locator::Css("body")).await.unwrap().text().await.unwrap()
    }

    /// Follows a link, or presses a button.
    pub async fn click(&self, css: &str) {
        self.client.find(Locator::Css(css)).await.unwrap().click().await.unwrap();
    }

    /// Saves what is seen under `target/screenshots`.
    pub async fn photograph(&self, name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        std::fs::write(&path, self.client.screenshot().await.unwrap()).unwrap();
        path
    }

    /// Closes it.
    pub async fn close(self) {
        let _ = self.client.clone().close().await;
    }
}

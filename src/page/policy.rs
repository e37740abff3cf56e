//! The content security policy of the page: nothing but its own style and script, named by hash, and the
//! addresses that it must reach.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::settings::{Logo, Settings, Source};

/// The policy for a page with this style and this script, byte for byte as they stand between their tags.
pub(super) fn policy(settings: &Settings, style: &str, script: &str) -> String {
    let also = |sources: &mut dyn Iterator<Item = &Source>| -> String {
        sources.map(|source| format!(" {}", source.as_str())).collect()
    };
    let images = if settings.logo.as_ref().is_some_and(Logo::is_path) { " 'self'" } else { "" };
    [
        "default-src 'none'".to_owned(),
        format!("script-src '{}'", hash(script)),
        format!("style-src '{}'", hash(style)),
        format!("connect-src 'self'{}", also(&mut settings.crowd.iter())),
        // The icon of the tab is data within the page, and so may the logo be.
        format!("img-src data:{images}"),
        // The worker that keeps time while the tab is hidden.
        "worker-src blob:".to_owned(),
        "form-action 'self'".to_owned(),
        format!("frame-ancestors 'self'{}", also(&mut settings.frame_ancestors.iter())),
        "base-uri 'none'".to_owned(),
    ]
    .join("; ")
}

/// The hash source of `content`.
pub(super) fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, content.as_bytes())))
}

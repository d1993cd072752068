//! The pages that the `type` of an error leads to.

use jobbers_api::problem::Code;

use crate::server::Server;

#[tokio::test]
async fn the_type_of_every_error_leads_to_a_page_that_says_what_to_do() {
    let server = Server::start().await;
    let all = server.get("/problems").await;
    assert_eq!(all.status, 200);
    for code in Code::ALL {
        let page = server.get(&code.page()).await;
        assert_eq!(page.status, 200, "{code:?}");
        assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{code:?}");
        assert!(page.text.contains(&format!("<code>{}</code>", code.as_str())), "{code:?}: {}", page.text);
        // The start of the help, up to what is set as code.
        let help = code.help().split('`').next().unwrap();
        assert!(page.text.contains(help), "{code:?}: {}", page.text);
        let link = format!("href=\"problems/{}\"", code.as_str());
        assert!(all.text.contains(&link), "{code:?} is not listed");
    }
    // From an error to its page as a client finds it.
    let problem = server.get("/tasks/none").await.refused(404, "unknown_task");
    assert_eq!(server.get(problem["type"].as_str().unwrap()).await.status, 200);
    server.get("/problems/nonsense").await.refused(404, "not_found");
}

//! Takes PromQL apart: which series an expression reads, and what it does with them.

use jobbers_common::metrics::{self, Kind, Metric};
use promql_parser::parser::{
    AggregateExpr, Expr, LabelModifier, VectorSelector,
    token::{T_MAX, T_MIN},
};

/// Series an expression reads.
#[derive(Debug, Clone)]
pub(super) struct Use {
    /// Their names; none if a pattern replaces the name.
    pub(super) name: Option<String>,
    /// Label, operator and value of each matcher.
    pub(super) matchers: Vec<(String, String, String)>,
    /// The function right around them.
    pub(super) function: Option<String>,
    /// Whether the aggregation next around them takes the greatest or the least.
    pub(super) extreme: bool,
    /// The labels each aggregation around them keeps, the nearest first.
    pub(super) kept: Vec<Vec<String>>,
}

/// An expression without Grafana's words in it.
pub(super) fn plain(expr: &str) -> String {
    let mut plain = expr.replace("$__rate_interval", "1m").replace("$__range", "1h");
    for variable in ["cluster", "queue", "task", "role", "instance"] {
        plain = plain.replace(&format!("\"${variable}\""), "\".*\"");
    }
    assert!(!plain.contains('$'), "a variable that no dashboard has: {plain}");
    plain
}

/// The expression's tree.
pub(super) fn parse(expr: &str) -> Expr {
    promql_parser::parser::parse(&plain(expr)).unwrap_or_else(|error| panic!("{error}: {expr}"))
}

/// All series `expr` reads.
pub(super) fn uses(expr: &str) -> Vec<Use> {
    let mut found = Vec::new();
    walk(&parse(expr), &Around::default(), &mut found);
    assert!(!found.is_empty(), "reads no series: {expr}");
    found
}

#[derive(Default, Clone)]
struct Around {
    function: Option<String>,
    extreme: bool,
    kept: Vec<Vec<String>>,
}

impl Around {
    /// Inside an aggregation or an operator no function is right around any more.
    fn inside(&self, aggregate: Option<&AggregateExpr>) -> Self {
        let mut around = Self { function: None, ..self.clone() };
        if let Some(aggregate) = aggregate {
            around.extreme = matches!(aggregate.op.id(), T_MAX | T_MIN);
            let kept = match &aggregate.modifier {
                Some(LabelModifier::Include(labels)) => labels.labels.clone(),
                Some(LabelModifier::Exclude(_)) => panic!("write `by`, so that what is kept can be read"),
                None => Vec::new(),
            };
            around.kept.insert(0, kept);
        }
        around
    }
}

fn walk(expr: &Expr, around: &Around, found: &mut Vec<Use>) {
    match expr {
        Expr::Aggregate(aggregate) => walk(&aggregate.expr, &around.inside(Some(aggregate)), found),
        Expr::Unary(unary) => walk(&unary.expr, around, found),
        Expr::Paren(paren) => walk(&paren.expr, around, found),
        Expr::Subquery(subquery) => walk(&subquery.expr, around, found),
        Expr::Binary(binary) => {
            walk(&binary.lhs, &around.inside(None), found);
            walk(&binary.rhs, &around.inside(None), found);
        }
        Expr::Call(call) => {
            let mut inside = around.clone();
            inside.function = Some(call.func.name.to_owned());
            for argument in &call.args.args {
                walk(argument, &inside, found);
            }
        }
        Expr::VectorSelector(selector) => found.push(read(selector, around)),
        Expr::MatrixSelector(matrix) => found.push(read(&matrix.vs, around)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
    }
}

fn read(selector: &VectorSelector, around: &Around) -> Use {
    let matchers = selector.matchers.matchers.iter();
    Use {
        name: selector.name.clone(),
        matchers: matchers.map(|m| (m.name.clone(), m.op.to_string(), m.value.clone())).collect(),
        function: around.function.clone(),
        extreme: around.extreme,
        kept: around.kept.clone(),
    }
}

/// The metric a series belongs to.
pub(super) fn metric_of(series: &str) -> Option<&'static Metric> {
    metrics::ALL.iter().copied().find(|metric| {
        let name = metric.prometheus_name();
        match metric.kind {
            Kind::Histogram => ["_bucket", "_sum", "_count"].iter().any(|end| series == format!("{name}{end}")),
            Kind::Counter | Kind::ObservedCounter | Kind::Gauge => series == name,
        }
    })
}

#[test]
fn an_expression_is_taken_apart() {
    let found = uses(r#"sum by (queue) (rate(tasks_processed_total{queue=~"$queue"}[5m])) / max(jobbers_queue_depth)"#);
    let first = found.first().unwrap();
    assert_eq!((first.function.as_deref(), first.extreme), (Some("rate"), false));
    assert_eq!(first.kept, [vec!["queue".to_owned()]]);
    assert_eq!(first.matchers, [("queue".to_owned(), "=~".to_owned(), ".*".to_owned())]);
    let second = found.get(1).unwrap();
    assert_eq!((second.name.as_deref(), second.function.as_deref()), (Some("jobbers_queue_depth"), None));
    assert!(second.extreme);
}

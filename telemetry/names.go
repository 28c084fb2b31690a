package telemetry

// Names of everything that is measured, traced and logged. Those that begin
// with mcp, gen_ai, jsonrpc, rpc, error and network follow OpenTelemetry's
// conventions for MCP, which are not final; they are defined only here.

// Attributes of spans.
const (
	attrMethod    = "mcp.method.name"
	attrRevision  = "mcp.protocol.version"
	attrResource  = "mcp.resource.uri"
	attrTool      = "gen_ai.tool.name"
	attrPrompt    = "gen_ai.prompt.name"
	attrOperation = "gen_ai.operation.name"
	attrRequestID = "jsonrpc.request.id"
	attrStatus    = "rpc.response.status_code"
	attrError     = "error.type"
	attrTransport = "network.transport"
	attrPrincipal = "bossman.principal"
	attrVerb      = "bossman.verb"
	attrProject   = "bossman.project"
	attrTask      = "bossman.task"

	attrServiceName    = "service.name"
	attrServiceVersion = "service.version"
)

// Values of attributes and labels.
const (
	operationTool = "execute_tool"
	transportPipe = "pipe"
	transportTCP  = "tcp"

	errorTool      = "tool_error" // the tool reported an error to the model
	errorCancelled = "cancelled"  // the client cancelled the request
	errorTimeout   = "timeout"    // the other server did not respond in time
	errorPanic     = "panic"
	errorOther     = "_OTHER"

	// unknown replaces a method, tool or prompt that the server does not have.
	unknown = "unknown"

	resultOK    = "ok"
	resultError = "error"

	byPerson  = "person"
	byDefault = "default"
)

// Metrics.
const (
	metricServer      = "mcp_server_operation_duration_seconds"
	metricClient      = "mcp_client_operation_duration_seconds"
	metricTasks       = "bossman_tasks"
	metricClaims      = "bossman_task_claims_total"
	metricLeases      = "bossman_leases_active"
	metricExpirations = "bossman_lease_expirations_total"
	metricWait        = "bossman_task_queue_wait_seconds"
	metricRun         = "bossman_task_run_seconds"
	metricOpen        = "bossman_questions_open"
	metricAnswer      = "bossman_question_answer_seconds"
	metricQuery       = "bossman_db_query_duration_seconds"
	metricBuild       = "bossman_build_info"
	metricOpened      = "bossman_conversations_open"
	metricRefused     = "bossman_messages_refused_total"
	metricPanics      = "bossman_panics_total"
	metricHTTP        = "bossman_http_requests_total"
	metricConns       = "bossman_http_connections"
	metricMaxConns    = "bossman_http_connections_max"
	metricAuditLost   = "bossman_audit_lines_lost_total"
	metricSpansLost   = "bossman_trace_spans_lost_total"
)

// Labels of metrics.
const (
	labelMethod    = "mcp_method_name"
	labelTool      = "gen_ai_tool_name"
	labelPrompt    = "gen_ai_prompt_name"
	labelError     = "error_type"
	labelState     = "state"
	labelResult    = "result"
	labelCause     = "cause"
	labelBy        = "by"
	labelOperation = "operation"
	labelCode      = "code"
	labelVersion   = "version"
	labelGo        = "go_version"
)

// Keys of log lines and of the audit stream, shared by all components.
const (
	KeyTask      = "task"
	KeyProject   = "project"
	KeyWorker    = "worker"
	KeyPrincipal = "principal"
	KeyMethod    = "method"
	KeyTool      = "tool"
	KeyRevision  = "revision"
	KeyErr       = "err"
	KeyTrace     = "trace_id"
	KeySpan      = "span_id"
)

// Members of a request's _meta that carry trace context, and their maximum
// lengths.
const (
	metaParent  = "traceparent"
	metaState   = "tracestate"
	metaBaggage = "baggage"

	maxParent  = 128
	maxState   = 512
	maxBaggage = 8192
)

// Buckets of histograms, in seconds. The conventions start at 10 ms, but most
// calls take less.
var (
	operationBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	queryBuckets     = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
	workBuckets      = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600}
)

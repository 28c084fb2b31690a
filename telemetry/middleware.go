package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// Middleware measures every request, records a span if there are traces, and
// writes an audit line if there is an audit stream and the request belongs
// there. It should be the outermost middleware, so that it also sees what other
// middleware refuses.
//
// Arguments and the texts of results and errors are not recorded. Labels are
// names that the server has registered; any other name becomes "unknown".
func (t *Telemetry) Middleware() func(mcp.Handler) mcp.Handler {
	return func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (res mcp.Result, err error) {
			o := outcome{target: r.Target(), panicked: true}
			var span trace.Span
			if t.traces != nil {
				ctx, span = t.traces.begin(ctx, r, o.target)
			}
			start := time.Now()
			defer func() { // also after a panic, which the server recovers
				o.took = time.Since(start)
				o.classify(ctx, res, err)
				t.serverSeries.of(o.operation()).Observe(o.took.Seconds())
				if span != nil || t.audit != nil {
					t.account(ctx, span, r, res, &o)
				}
			}()
			res, err = next(ctx, r)
			o.panicked = false
			return res, err
		}
	}
}

// account writes the audit line and ends the span.
func (t *Telemetry) account(ctx context.Context, span trace.Span, r *mcp.Request, res mcp.Result, o *outcome) {
	var s subject
	writes := t.audit != nil && (o.target.Writes || o.denied)
	if writes || span != nil && span.IsRecording() && o.target.Kind == mcp.KindTool {
		s = subjectOf(r, res)
	}
	if writes {
		t.audit.add(t.line(ctx, r, s, o))
	}
	if span != nil {
		o.end(span, s)
	}
}

// An outcome is the outcome of a request.
type outcome struct {
	target   mcp.Target
	took     time.Duration
	panicked bool
	denied   bool   // missing permission
	err      string // error type; "" on success
	code     int    // JSON-RPC error code, or 0
}

// classify determines the type of the error, if there is one.
func (o *outcome) classify(ctx context.Context, res mcp.Result, err error) {
	switch {
	case o.panicked:
		o.err, o.code = errorPanic, codeInternal
	case err != nil && ctx.Err() != nil:
		o.err, o.code = errorCancelled, transport.ErrorCode(err)
	case err != nil:
		o.code = transport.ErrorCode(err)
		o.err = codeLabel(o.code)
		o.denied = isDenied(err)
	default:
		if tool, ok := res.(*mcp.ToolResult); ok && tool != nil && tool.IsError {
			o.err = errorTool
			o.denied = refusalOf(tool) == refusedDenied
		}
	}
}

// operation returns the labels of the request.
func (o *outcome) operation() operation {
	x := operation{method: o.target.Method, err: o.err}
	switch {
	case x.method == "":
		x.method = unknown
	case o.target.Kind == mcp.KindTool:
		x.tool = o.target.Name
	case x.method == "tools/call":
		x.tool = unknown
	case o.target.Kind == mcp.KindPrompt:
		x.prompt = o.target.Name
	case x.method == "prompts/get":
		x.prompt = unknown
	}
	return x
}

// verb is what the request does on a board, empty if it is about something else.
func (o *outcome) verb() string {
	tool := ""
	if o.target.Kind == mcp.KindTool {
		tool = o.target.Name
	}
	if v, ok := access.ByRequest(o.target.Method, tool); ok {
		return v.Name
	}
	return ""
}

// end completes the span.
func (o *outcome) end(span trace.Span, s subject) {
	if verb := o.verb(); verb != "" {
		span.SetAttributes(attribute.String(attrVerb, verb))
	}
	if s.project != "" {
		span.SetAttributes(attribute.String(attrProject, s.project))
	}
	if s.task != "" {
		span.SetAttributes(attribute.String(attrTask, s.task))
	}
	if o.code != 0 {
		span.SetAttributes(attribute.String(attrStatus, strconv.Itoa(o.code)))
	}
	if o.err != "" {
		span.SetAttributes(attribute.String(attrError, o.err))
		span.SetStatus(codes.Error, "") // the text may contain anything
	}
	span.End()
}

// codeInternal is JSON-RPC's code for an internal error.
const codeInternal = -32603

// codeLabel returns the error type for a code of the protocol. All other codes,
// which programs and upstream servers may define, share one.
func codeLabel(code int) string {
	switch code {
	case -32700:
		return "-32700"
	case -32600:
		return "-32600"
	case -32601:
		return "-32601"
	case -32602:
		return "-32602"
	case codeInternal:
		return "-32603"
	case -32000:
		return "-32000"
	case -32002:
		return "-32002"
	case -32042:
		return "-32042"
	case mcp.CodeHeaderMismatch:
		return "-32020"
	case mcp.CodeMissingCapability:
		return "-32021"
	case mcp.CodeUnsupportedVersion:
		return "-32022"
	}
	return errorOther
}

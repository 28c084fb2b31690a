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
)

// Middleware measures every request, makes a span of it if there are traces, and a
// line if there is an audit stream and the request belongs there. It should be the
// outermost, so that what other middleware refuses is seen as well.
//
// Neither arguments nor the texts of answers and errors are kept anywhere. Labels are
// names that the server has registered; what a client makes up becomes "unknown".
func (t *Telemetry) Middleware() func(mcp.Handler) mcp.Handler {
	return func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (res mcp.Result, err error) {
			o := outcome{target: r.Target(), panicked: true}
			var span trace.Span
			if t.traces != nil {
				ctx, span = t.traces.begin(ctx, r, o.target)
			}
			begun := time.Now()
			defer func() { // also after a panic, which is the server's to catch
				o.took = time.Since(begun)
				o.sort(ctx, res, err)
				t.calls.of(o.operation()).Observe(o.took.Seconds())
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

// account is what costs more than a measurement: the audit line and the span.
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

// An outcome is how a request went.
type outcome struct {
	target   mcp.Target
	took     time.Duration
	panicked bool
	denied   bool   // for want of a right
	err      string // its type, "" if all went well
	code     int    // of the JSON-RPC error, or 0
}

// sort finds out what kind of error there was, if there was one.
func (o *outcome) sort(ctx context.Context, res mcp.Result, err error) {
	switch {
	case o.panicked:
		o.err, o.code = errorPanic, codeInternal
	case err != nil && ctx.Err() != nil:
		o.err, o.code = errorCancelled, mcp.ErrorCode(err)
	case err != nil:
		o.code = mcp.ErrorCode(err)
		o.err = codeLabel(o.code)
		o.denied = isDenied(err)
	default:
		if tool, ok := res.(*mcp.ToolResult); ok && tool != nil && tool.IsError {
			o.err = errorTool
			o.denied = refusalOf(tool) == refusedDenied
		}
	}
}

// operation is the series that the request is counted in.
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
		span.SetStatus(codes.Error, "") // the text may hold anything
	}
	span.End()
}

// codeInternal is JSON-RPC's code for what went wrong inside.
const codeInternal = -32603

// codeLabel is the error's type for a code that the protocol has. Programs and
// upstream servers may make up others: they share one.
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

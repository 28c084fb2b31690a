package telemetry

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/mcp"
)

// ClientObserver measures what a client asks of a server, makes spans of it, and lets
// the server know which trace they belong to; for mcp.ClientOptions. Names of tools
// are the other server's, so they are in spans and not in metrics.
func (t *Telemetry) ClientObserver() func(ctx context.Context, method, name string) (mcp.Meta, func(error)) {
	return func(ctx context.Context, method, name string) (mcp.Meta, func(error)) {
		begun := time.Now()
		var span trace.Span
		var meta mcp.Meta
		if t.traces != nil {
			ctx, span = t.traces.beginClient(ctx, method, name)
			carrier := propagation.MapCarrier{}
			propagator.Inject(ctx, carrier)
			meta = make(mcp.Meta, len(carrier))
			for k, v := range carrier {
				meta[k] = v
			}
		}
		return meta, func(err error) {
			kind := clientError(ctx, err)
			t.asks.of(operation{method: method, err: kind}).Observe(time.Since(begun).Seconds())
			if span == nil {
				return
			}
			if kind != "" {
				span.SetAttributes(attribute.String(attrError, kind))
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}
	}
}

func (t *traces) beginClient(ctx context.Context, method, name string) (context.Context, trace.Span) {
	attrs := []attribute.KeyValue{attribute.String(attrMethod, method)}
	title := method
	switch {
	case name == "":
	case method == "tools/call":
		attrs = append(attrs, attribute.String(attrTool, name), attribute.String(attrOperation, operationTool))
		title += " " + clip(name)
	case method == "prompts/get":
		attrs = append(attrs, attribute.String(attrPrompt, name))
		title += " " + clip(name)
	}
	return t.tracer.Start(ctx, strings.Clone(title), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
}

// clientError is the type of an error that a request of ours got.
func clientError(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, mcp.ErrTimeout):
		return errorTimeout
	case ctx.Err() != nil:
		return errorCancelled
	}
	return codeLabel(mcp.ErrorCode(err))
}

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
	"github.com/bossman-dev/bossman/mcp/transport"
)

// ClientObserver measures the requests of a client, records spans, and passes
// the trace context to the server. It is for mcp.ClientOptions. Tool names
// belong to the other server, so they appear in spans but not in metrics.
func (t *Telemetry) ClientObserver() func(ctx context.Context, method, name string) (mcp.Meta, func(error)) {
	return func(ctx context.Context, method, name string) (mcp.Meta, func(error)) {
		start := time.Now()
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
			t.clientSeries.of(operation{method: method, err: kind}).Observe(time.Since(start).Seconds())
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

// clientError returns the type of a request's error.
func clientError(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, mcp.ErrTimeout):
		return errorTimeout
	case ctx.Err() != nil:
		return errorCancelled
	}
	return codeLabel(transport.ErrorCode(err))
}

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/mcp"
)

// traces creates spans and sends them to a collector.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

const (
	tracerName = "github.com/bossman-dev/bossman/telemetry"
	// tracesPath is the default path of collectors.
	tracesPath = "/v1/traces"
	// maxAttribute limits the length of an attribute.
	maxAttribute = 256
)

// newTraces returns traces for the collector at an endpoint, or for the one in
// the environment. It returns nil if there is none.
func newTraces(endpoint, version string, log *slog.Logger, lost prometheus.Counter) (*traces, error) {
	var opts []otlptracehttp.Option
	if endpoint != "" {
		u, err := collector(endpoint)
		if err != nil {
			return nil, err
		}
		opts = append(opts, otlptracehttp.WithEndpointURL(u))
	} else if wanted, why := environment(); !wanted {
		if why != "" {
			// Variables meant for other programs must not prevent this one from
			// starting.
			log.Warn("traces are disabled", KeyErr, why)
		}
		return nil, nil
	}
	exporter, err := otlptracehttp.New(context.Background(), opts...) // does not connect yet
	if err != nil {
		return nil, errors.New("telemetry: the OTEL_EXPORTER_OTLP_* variables cannot be used together: check the certificates and the endpoint")
	}
	return newTracesTo(&countingExporter{exporter, log, lost}, version), nil
}

// newTracesTo returns traces for an exporter.
func newTracesTo(e sdktrace.SpanExporter, version string) *traces {
	about := resource.NewSchemaless(attribute.String(attrServiceName, "bossman"), attribute.String(attrServiceVersion, version))
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
	if env, err := resource.New(context.Background(), resource.WithFromEnv()); err == nil {
		if merged, err := resource.Merge(about, env); err == nil {
			about = merged
		}
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttribute
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e), sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits))
	return &traces{provider: p, tracer: p.Tracer(tracerName, trace.WithInstrumentationVersion(version))}
}

// collector validates and completes the URL of a collector.
func collector(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("telemetry: the traces URL must be http or https, such as http://127.0.0.1:4318")
	}
	if u.User != nil { // it would appear in errors
		return "", fmt.Errorf("telemetry: the traces URL, at %s, contains credentials: put them into OTEL_EXPORTER_OTLP_HEADERS", u.Host)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// environment reports whether the standard OpenTelemetry variables ask for
// traces. If they do but cannot be followed, it says why.
func environment() (wanted bool, why string) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, ""
	}
	const general, particular = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	name := particular
	if os.Getenv(name) == "" {
		name = general
	}
	if os.Getenv(name) == "" {
		return false, ""
	}
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "", "otlp":
	case "none":
		return false, ""
	default:
		return false, "OTEL_TRACES_EXPORTER is not otlp"
	}
	for _, v := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(v); p != "" {
			if p != "http/protobuf" {
				return false, v + " is not http/protobuf, the only protocol that is built in"
			}
			break
		}
	}
	if _, err := collector(os.Getenv(name)); err != nil {
		return false, name + " is not a URL with http or https and without a password"
	}
	return true, ""
}

func (t *traces) shutdown(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry: send the last spans: %w", context.Cause(ctx))
	}
	return nil
}

// A countingExporter counts and logs errors, which the library would print.
type countingExporter struct {
	sdktrace.SpanExporter
	log  *slog.Logger
	lost prometheus.Counter
}

// ExportSpans never fails. It does not log the collector's response, which may
// repeat what was sent.
func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.lost.Add(float64(len(spans)))
		e.log.Warn("cannot send spans", "count", len(spans), "timeout", errors.Is(err, context.DeadlineExceeded))
	}
	return nil
}

// propagator reads and writes W3C trace context.
var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// requestMeta is the _meta of a request as a carrier of trace context.
type requestMeta struct{ r *mcp.Request }

// Get returns a member that is a string within its maximum length, or "".
func (m requestMeta) Get(name string) string {
	most := 0
	switch name {
	case metaParent:
		most = maxParent
	case metaState:
		most = maxState
	case metaBaggage:
		most = maxBaggage
	}
	raw := m.r.Meta(name)
	if len(raw) < 2 || len(raw) > most+2 || raw[0] != '"' {
		return ""
	}
	var s string
	if jsonv2.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (m requestMeta) Set(string, string) {}
func (m requestMeta) Keys() []string     { return nil }

// begin starts the span of a request. Its parent is the one in _meta, or else
// the one in ctx.
func (t *traces) begin(ctx context.Context, r *mcp.Request, o mcp.Target) (context.Context, trace.Span) {
	ctx = propagator.Extract(ctx, requestMeta{r})
	name := o.Method
	if name == "" {
		name = unknown
	}
	attrs := append(make([]attribute.KeyValue, 0, 8),
		attribute.String(attrMethod, strings.Clone(name)),
		attribute.String(attrRevision, r.Revision.String()),
		attribute.String(attrTransport, transportOf(ctx)),
		attribute.String(attrPrincipal, r.Principal.ID),
	)
	if !r.ID.IsZero() {
		attrs = append(attrs, attribute.String(attrRequestID, strings.Trim(r.ID.String(), `"`)))
	}
	switch o.Kind {
	case mcp.KindTool:
		attrs = append(attrs, attribute.String(attrTool, o.Name), attribute.String(attrOperation, operationTool))
		name += " " + o.Name
	case mcp.KindPrompt:
		attrs = append(attrs, attribute.String(attrPrompt, o.Name))
		name += " " + o.Name
	case mcp.KindResource, mcp.KindResourceTemplate: // the template, not the URI
		attrs = append(attrs, attribute.String(attrResource, o.Name))
	}
	return t.tracer.Start(ctx, strings.Clone(name), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

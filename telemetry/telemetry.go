package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bossman-dev/bossman/mcp"
)

// Options configures Telemetry. The zero value collects metrics, without traces
// and audit stream.
type Options struct {
	// Logger receives errors of this package. Default: slog.Default().
	Logger *slog.Logger
	// Traces is the URL of a collector for OTLP over HTTP, such as
	// http://127.0.0.1:4318. If empty, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
	// OTEL_EXPORTER_OTLP_ENDPOINT is used; if neither is set, there are no
	// traces. Headers, timeouts and sampling are set by OTEL_* variables too.
	Traces string
	// Version is the version of the program.
	Version string
	// Audit gets a line of JSON for each call that may change something, and
	// for each call that was denied. Nil disables it. Each Write is whole
	// lines, and Writes do not overlap.
	Audit io.Writer
	// Who returns details about a principal for the audit stream.
	Who func(mcp.Principal) Who
}

// Who describes a principal in the audit stream.
type Who struct {
	Name  string // display name
	Owner string // who is responsible, as a key or token says
	Kind  string // person, agent, …
	Key   string // id of the key that was used, never the key itself
}

// Telemetry measures, traces and audits what a server and its board do. Its
// methods may be called concurrently.
type Telemetry struct {
	o            Options
	log          *slog.Logger
	reg          *prometheus.Registry
	m            *metrics
	serverSeries *series // requests to a server
	clientSeries *series // requests of clients
	traces       *traces // nil if disabled
	audit        *audit  // nil if disabled
}

// New starts telemetry. Shutdown stops what it starts.
func New(o *Options) (*Telemetry, error) {
	t := &Telemetry{reg: prometheus.NewRegistry()}
	if o != nil {
		t.o = *o
	}
	if t.log = t.o.Logger; t.log == nil {
		t.log = slog.Default()
	}
	t.m = newMetrics(t.reg, t.o.Version)
	t.serverSeries = newSeries(t.m.server)
	t.clientSeries = newSeries(t.m.client)
	var err error
	if t.traces, err = newTraces(t.o.Traces, t.o.Version, t.log, t.m.spansLost); err != nil {
		return nil, err
	}
	if t.o.Audit != nil {
		t.audit = newAudit(t.o.Audit, t.log, t.m.auditLost)
	}
	return t, nil
}

// Metrics returns the handler that serves the metrics to Prometheus. They
// reveal much about a server, so serve them on a protected listener.
func (t *Telemetry) Metrics() http.Handler {
	return promhttp.HandlerFor(t.reg, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true})
}

const maxScrapes = 4

// Observer counts what middleware cannot see. It is for mcp.ServerOptions.
func (t *Telemetry) Observer() mcp.Observer {
	return mcp.Observer{
		Connected:    t.m.opened.Inc,
		Disconnected: func(error) { t.m.opened.Dec() },
		Rejected:     func(error) { t.m.refused.Inc() },
		Panicked:     func(any, []byte) { t.m.panics.Inc() },
	}
}

// Shutdown sends the remaining spans and writes the remaining audit lines,
// until ctx ends. Later calls are only measured.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.shutdown(ctx))
	}
	if t.audit != nil {
		errs = append(errs, t.audit.shutdown(ctx))
	}
	return errors.Join(errs...)
}

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

// Options are what Telemetry can be told; the zero value measures, and neither
// traces nor keeps an audit stream.
type Options struct {
	// Logger takes what goes wrong here. Nil: slog's default.
	Logger *slog.Logger
	// Traces is the URL of a collector that takes OTLP over HTTP, such as
	// http://127.0.0.1:4318. Empty: what OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
	// OTEL_EXPORTER_OTLP_ENDPOINT says, and if they say nothing there are no traces.
	// Headers, time limits and sampling are OTEL_* variables too.
	Traces string
	// Version is the program's.
	Version string
	// Audit gets a line of JSON for each call that may change something, and for each
	// that was refused for want of a right. Nil: there is none. A Write is whole lines,
	// and one Write happens at a time.
	Audit io.Writer
	// Who tells more about a principal than its id, for the audit stream.
	Who func(mcp.Principal) Who
}

// Who is what the audit stream says of a principal.
type Who struct {
	Name string // what people call it
	Kind string // a person, an agent, …
	Key  string // the id of the key that was used, never the key
}

// Telemetry measures, traces and accounts for what a server and its board do. Its
// methods may be called from many goroutines.
type Telemetry struct {
	o      Options
	log    *slog.Logger
	reg    *prometheus.Registry
	m      *metrics
	calls  *series // of a server
	asks   *series // of clients
	traces *traces // nil: none
	audit  *audit  // nil: none
}

// New begins. What it begins ends with Shutdown.
func New(o *Options) (*Telemetry, error) {
	t := &Telemetry{reg: prometheus.NewRegistry()}
	if o != nil {
		t.o = *o
	}
	if t.log = t.o.Logger; t.log == nil {
		t.log = slog.Default()
	}
	t.m = newMetrics(t.reg, t.o.Version)
	t.calls = newSeries(t.m.server)
	t.asks = newSeries(t.m.client)
	var err error
	if t.traces, err = newTraces(t.o.Traces, t.o.Version, t.log, t.m.spansLost); err != nil {
		return nil, err
	}
	if t.o.Audit != nil {
		t.audit = newAudit(t.o.Audit, t.log, t.m.auditLost)
	}
	return t, nil
}

// Metrics serves the metrics to Prometheus. It tells much about a server, and is for
// a listener that not everybody reaches.
func (t *Telemetry) Metrics() http.Handler {
	return promhttp.HandlerFor(t.reg, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true})
}

const maxScrapes = 4

// Observer counts what middleware cannot see, for mcp.ServerOptions.
func (t *Telemetry) Observer() mcp.Observer {
	return mcp.Observer{
		Opened:  t.m.opened.Inc,
		Closed:  func(error) { t.m.opened.Dec() },
		Refused: func(error) { t.m.refused.Inc() },
		Panic:   func(any, []byte) { t.m.panics.Inc() },
	}
}

// Shutdown sends the spans and writes the audit lines that are still here, for as
// long as ctx lasts. Calls that come later are measured, and no more.
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

package telemetry

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/bossman-dev/bossman/board"
)

// metrics holds the metrics that are written to; those in board.go are computed
// when they are scraped.
type metrics struct {
	server, client *prometheus.HistogramVec

	claims      *prometheus.CounterVec
	expirations prometheus.Counter
	wait        prometheus.Histogram
	run         *prometheus.HistogramVec
	answered    *prometheus.HistogramVec
	query       *prometheus.HistogramVec

	opened    prometheus.Gauge
	refused   prometheus.Counter
	panics    prometheus.Counter
	http      *prometheus.CounterVec
	auditLost prometheus.Counter
	spansLost prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, version string) *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		server: histogram(metricServer, "How long requests took, by method, tool or prompt, and error.",
			operationBuckets, labelMethod, labelTool, labelPrompt, labelError),
		client: histogram(metricClient, "How long requests to other servers took, by method and error.",
			operationBuckets, labelMethod, labelTool, labelPrompt, labelError),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricClaims, Help: "Requests for a task, by what they got: " + claimResultNames() + ".",
		}, []string{labelResult}),
		expirations: counter(metricExpirations, "Claims that ended because their lease expired."),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metricWait, Help: "How long tasks were queued before they were handed out.", Buckets: workBuckets,
		}),
		run:      histogram(metricRun, "How long attempts lasted, by how they ended.", workBuckets, labelCause),
		answered: histogram(metricAnswer, "How long questions were open until they were answered, by a person (or a lead) or by their default.", workBuckets, labelBy),
		query: histogram(metricQuery, "Duration of database operations, by operation: claim, read and write are whole transactions, connect is the wait for a connection.",
			queryBuckets, labelOperation, labelResult),
		opened:  prometheus.NewGauge(prometheus.GaugeOpts{Name: metricOpened, Help: "Open connections over a pipe and event streams over HTTP."}),
		refused: counter(metricRefused, "Messages that were refused before they became requests."),
		panics:  counter(metricPanics, "Handlers that panicked."),
		http: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricHTTP, Help: "HTTP requests, by class of status.",
		}, []string{labelCode}),
		auditLost: counter(metricAuditLost, "Lines of the audit stream that could not be written."),
		spansLost: counter(metricSpansLost, "Spans that the collector did not take."),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricBuild, Help: "Version of the program; always 1."}, []string{labelVersion, labelGo})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	// Series that may be alerted on exist before the first event.
	for _, r := range claimResults {
		m.claims.WithLabelValues(string(r))
	}
	reg.MustRegister(m.server, m.client, m.claims, m.expirations, m.wait, m.run, m.answered, m.query,
		m.opened, m.refused, m.panics, m.http, m.auditLost, m.spansLost, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

var claimResults = []board.Answered{
	board.AnsweredGranted, board.AnsweredAgain, board.AnsweredNothing, board.AnsweredRefused, board.AnsweredFailed,
}

func claimResultNames() string {
	names := make([]string, len(claimResults))
	for i, r := range claimResults {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// maxSeries limits the series of one histogram, because upstream servers may
// change their names as often as they like.
const maxSeries = 2000

// A series finds the observer of an operation without building its labels each
// time.
type series struct {
	vec   *prometheus.HistogramVec
	known atomic.Pointer[map[operation]prometheus.Observer]

	mu sync.Mutex // held while adding to known
}

// An operation identifies a series by its labels.
type operation struct{ method, tool, prompt, err string }

func newSeries(vec *prometheus.HistogramVec) *series {
	s := &series{vec: vec}
	s.known.Store(&map[operation]prometheus.Observer{})
	return s
}

func (s *series) of(o operation) prometheus.Observer {
	if x, ok := (*s.known.Load())[o]; ok {
		return x
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *s.known.Load()
	if x, ok := known[o]; ok {
		return x
	}
	if len(known) >= maxSeries {
		o.tool, o.prompt = otherUnlessEmpty(o.tool), otherUnlessEmpty(o.prompt)
		if len(known) >= 2*maxSeries { // a client may send any method
			o.method = errorOther
		}
		if x, ok := known[o]; ok {
			return x
		}
	}
	// A method's name may share the memory of its message.
	o = operation{strings.Clone(o.method), strings.Clone(o.tool), strings.Clone(o.prompt), strings.Clone(o.err)}
	x := s.vec.WithLabelValues(o.method, o.tool, o.prompt, o.err)
	more := maps.Clone(known)
	more[o] = x
	s.known.Store(&more)
	return x
}

func otherUnlessEmpty(name string) string {
	if name == "" {
		return ""
	}
	return errorOther
}

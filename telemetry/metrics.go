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

// metrics are all that are written to; those of board.go are read when somebody asks.
type metrics struct {
	server, client *prometheus.HistogramVec

	claims      *prometheus.CounterVec
	expirations prometheus.Counter
	wait        prometheus.Histogram
	run         *prometheus.HistogramVec
	answer      *prometheus.HistogramVec
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
			Name: metricClaims, Help: "Requests for a task, by what they got: " + answers() + ".",
		}, []string{labelResult}),
		expirations: counter(metricExpirations, "Claims that ended because nobody gave a sign of life."),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metricWait, Help: "How long tasks were in line when they were handed out.", Buckets: workBuckets,
		}),
		run:    histogram(metricRun, "How long attempts lasted, by how they ended.", workBuckets, labelCause),
		answer: histogram(metricAnswer, "How long questions were open until they were answered, by a person (or a lead) or by their default.", workBuckets, labelBy),
		query: histogram(metricQuery, "How long the database took, by operation: claim, read and write are whole transactions, connect is the wait for a connection.",
			queryBuckets, labelOperation, labelResult),
		opened:  prometheus.NewGauge(prometheus.GaugeOpts{Name: metricOpened, Help: "Conversations over a pipe, and event streams over HTTP, that are open."}),
		refused: counter(metricRefused, "Messages that did not become requests."),
		panics:  counter(metricPanics, "Handlers that panicked."),
		http: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricHTTP, Help: "HTTP requests, by class of status.",
		}, []string{labelCode}),
		auditLost: counter(metricAuditLost, "Lines of the audit stream that could not be written."),
		spansLost: counter(metricSpansLost, "Spans that the collector did not take."),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricBuild, Help: "Which program this is; always 1."}, []string{labelVersion, labelGo})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	// What may be alerted on is there before it first happens.
	for _, r := range allAnswers {
		m.claims.WithLabelValues(string(r))
	}
	reg.MustRegister(m.server, m.client, m.claims, m.expirations, m.wait, m.run, m.answer, m.query,
		m.opened, m.refused, m.panics, m.http, m.auditLost, m.spansLost, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

var allAnswers = []board.Answered{
	board.AnsweredGranted, board.AnsweredAgain, board.AnsweredNothing, board.AnsweredRefused, board.AnsweredFailed,
}

func answers() string {
	names := make([]string, len(allAnswers))
	for i, r := range allAnswers {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// maxSeries bounds the series of one histogram, in case names come and go: upstream
// servers may change theirs as often as they like.
const maxSeries = 2000

// series finds the series of an operation without building its labels each time.
type series struct {
	vec   *prometheus.HistogramVec
	known atomic.Pointer[map[operation]prometheus.Observer]

	mu sync.Mutex // held by who adds to known
}

// An operation is what a series is about.
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
		o.tool, o.prompt = other(o.tool), other(o.prompt)
		if len(known) >= 2*maxSeries { // a client of ours may ask for anything
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

func other(name string) string {
	if name == "" {
		return ""
	}
	return errorOther
}

package telemetry

import "github.com/prometheus/client_golang/prometheus"

// WatchConnections shows the connections of a server: how many there may be, and what count
// returns, those on which a request had a good key, and those without one yet.
func (t *Telemetry) WatchConnections(most int, count func() (known, pending int)) {
	gauge := func(state string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: metricConns, Help: "Open connections, with a good key (known) or without one yet (pending).",
			ConstLabels: prometheus.Labels{labelState: state},
		}, func() float64 { return float64(value()) })
	}
	limit := prometheus.NewGauge(prometheus.GaugeOpts{Name: metricMaxConns, Help: "How many connections there may be."})
	limit.Set(float64(most))
	t.reg.MustRegister(limit,
		gauge("known", func() int { known, _ := count(); return known }),
		gauge("pending", func() int { _, pending := count(); return pending }))
}

// Package telemetry shows operators what a server does: metrics for Prometheus,
// traces over OTLP, log lines and an audit stream. The packages that do the
// work do not depend on it; it uses their middleware and observer hooks.
//
//	                   middleware  ┌────────────┐ histogram   /metrics
//	mcp.Server ───────────────────►│            ├────────────► Prometheus
//	mcp.Server ──── mcp.Observer ─►│            │
//	board.Board ─ board.Observer ─►│ Telemetry  │ span        OTLP over HTTP
//	store/postgres ─ its Observe ─►│            ├────────────► collector
//	http.Handler ──────── HTTP ───►│            │
//	mcp.Client ── ClientObserver ─►│            │ line        append-only
//	board.Board ◄──── WatchBoard ──┤            ├────────────► audit stream
//	                               └────────────┘
//
// A program sets it up like this:
//
//	t, err := telemetry.New(&telemetry.Options{Version: version})
//	…
//	b := board.New(store, &board.Options{Observer: t.BoardObserver()})
//	s := mcp.NewServer(info, &mcp.ServerOptions{Observer: t.Observer()})
//	s.Use(t.Middleware()) // first
//	g.Go(func() error { return t.WatchBoard(ctx, b) })
//	admin.Handle("/metrics", t.Metrics())
//	…
//	err = t.Shutdown(ctx)
//
// # What is excluded
//
// Arguments, the texts of results and errors, headers, database addresses and
// session ids (which over HTTP are as good as a key) appear in no metric, span
// or audit line. Of the arguments only the project and the task are recorded,
// and only if they are well-formed. Labels are names that the server itself has
// registered, so clients cannot create series, and they contain no ids.
//
// All names are in names.go; docs/telemetry.md explains them to operators.
package telemetry

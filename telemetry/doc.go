// Package telemetry tells operators what a server does: metrics for Prometheus,
// traces over OTLP, log lines and an audit stream. The packages that do the work know
// nothing of it; it reaches them through what they offer to anybody who looks on.
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
// A program wires it up so:
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
// # What is not in it
//
// Arguments, the texts of results and errors, headers, addresses of databases and
// session ids (which over HTTP are as good as a key) are in no metric, no span and no
// audit line. Of the arguments only the project and the task are taken, and only if
// they look like one. Labels are names that the server itself has registered, so
// clients cannot make series; there are no ids in them.
//
// The names are all in names.go; docs/telemetry.md explains them to operators.
package telemetry

package web

import (
	"net/http"

	"github.com/bossman-dev/bossman/access"
)

// A Route is something that the site serves.
type Route struct {
	Method  string
	Pattern string // as for http.ServeMux
	// Verb is what the caller must be allowed to do in some project; nil: nobody has to be
	// signed in. The handler checks the project that a request is about.
	Verb *access.Verb

	handle func(*request) error
}

// routes are all routes. A page is a row here, and the ones for its forms.
var routes []Route

func init() { // not in the declaration, which the handlers refer to
	routes = []Route{
		{http.MethodGet, "/{$}", access.Summary, showNow},
		{http.MethodGet, "/inbox", access.Inbox, showInbox},
		{http.MethodGet, "/inbox/{question}", access.Question, showQuestion},
		{http.MethodPost, "/inbox/{question}", access.Answer, postAnswer},
		{http.MethodGet, "/board", access.List, showBoard},
		{http.MethodGet, "/board/new", access.Create, showNew},
		{http.MethodPost, "/board/new", access.Create, postNew},
		{http.MethodGet, "/board/plan", access.CreatePlan, showPlan},
		{http.MethodPost, "/board/plan", access.CreatePlan, postPlan},
		{http.MethodGet, "/task/{task}", access.Get, showTask},
		{http.MethodGet, "/task/{task}/edit", access.Update, showEdit},
		{http.MethodPost, "/task/{task}/edit", access.Update, postEdit},
		{http.MethodGet, "/task/{task}/log", access.Log, showLog},
		{http.MethodGet, "/task/{task}/history", access.Events, showHistory},
		{http.MethodPost, "/task/{task}/start", access.Update, postAct("start")},
		{http.MethodPost, "/task/{task}/done", access.MarkDone, postAct("done")},
		{http.MethodPost, "/task/{task}/reopen", access.Reopen, postAct("reopen")},
		{http.MethodPost, "/task/{task}/cancel", access.Cancel, postAct("cancel")},
		{http.MethodPost, "/task/{task}/retry", access.Review, postAct("retry")},
		{http.MethodPost, "/task/{task}/release", access.Release, postAct("release")},

		{http.MethodGet, "/review", access.Inbox, showReviews},
		{http.MethodGet, "/review/{task}", access.Diff, showReview},
		{http.MethodPost, "/review/{task}", access.Review, postReview},
		{http.MethodGet, "/timeline", access.Summary, showTimeline},
		{http.MethodGet, "/landing", access.Line, showLanding},
		{http.MethodGet, "/gateway", access.Calls, showGateway},
		{http.MethodPost, "/gateway", access.SetProject, postGateway},
		{http.MethodGet, "/admin", access.SetProject, showAdmin},
		{http.MethodPost, "/admin", access.SetProject, postAdmin},

		{http.MethodGet, "/settings", access.Inbox, showSettings},
		{http.MethodPost, "/settings", access.Inbox, postSettings},

		{http.MethodGet, "/live", access.Feed, serveStream},
		{http.MethodGet, "/signin", nil, showSignIn},
		{http.MethodPost, "/signin", nil, postSignIn},
		{http.MethodPost, "/signout", nil, postSignOut},
		{http.MethodGet, "/tap/{link}", nil, showTap},
		{http.MethodPost, "/tap/{link}", nil, postTap},
		{http.MethodGet, "/worker.js", nil, serveWorker},
		{http.MethodGet, "/static/{hash}/{name}", nil, serveFile},
	}
}

// Routes lists what the site serves, for a server that checks its own table.
func (s *Site) Routes() []Route { return append([]Route(nil), routes...) }

// Package web looks at the pages with a real browser.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/web"
	"github.com/bossman-dev/bossman/web/webtest"
)

// A site is a filled board with its pages, and a browser.
type site struct {
	board *board.Board
	door  *web.SoloDoor
	pages *web.Site

	addr, url string
	server    *http.Server
	slow      atomic.Int64 // how many of the next updates of pages take slowFor
	refused   atomic.Int64 // how many of the next updates of pages are refused
}

// slowFor is how long a slow update of a page takes.
const slowFor = 500 * time.Millisecond

// ServeHTTP serves the pages.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Bossman-Part") != "" && s.slow.Add(-1) >= 0 {
		time.Sleep(slowFor)
	}
	if r.Header.Get("Bossman-Part") != "" && s.refused.Add(-1) >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.pages.ServeHTTP(w, r)
}

// filled is a board with a day of work, made once.
var filled = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "bossman-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	clock, path := &webtest.Clock{}, filepath.Join(dir, "board.db")
	store, err := sqlite.Open(context.Background(), path, &sqlite.Options{Clock: clock.Now})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(webtest.Fill(context.Background(), board.New(store, nil), clock), store.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newSite fills a board and serves it for the person at this machine.
func newSite(t *testing.T) *site {
	t.Helper()
	file, err := filled()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &site{board: board.New(store, nil)}
	caller := access.Local(auth.Admin, "shop", "api", "warehouse")
	caller.Name, caller.Person = "Ada Lindqvist", true
	s.door = web.NewSoloDoor(func(context.Context) (*access.Caller, error) { return caller, nil })
	keys := auth.New(store, nil)
	for _, k := range []auth.NewKey{
		{Owner: "Ada Lindqvist", Person: true, Project: auth.EveryProject, Role: auth.Admin, By: "shell:ops"},
		{Owner: "Jonas Weber", Person: true, Project: "shop", Role: auth.Lead, By: "shell:ops"},
		{Owner: "Ada Lindqvist", Name: "crew on build1", Project: "shop", Role: auth.Worker, By: "shell:ops"},
		{Owner: "Jonas Weber", Name: "reviewer", Project: "api", Role: auth.Lead, By: "shell:ops"},
	} {
		if _, _, err := keys.CreateKey(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := web.New(web.Options{Board: s.board, Door: s.door, Directory: keys, Gateway: newGateway(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.board.Run(ctx) })
	wg.Go(func() { _ = pages.Run(ctx) })
	s.pages, s.addr = pages, "127.0.0.1:0"
	s.listen(t)
	s.url = "http://" + s.addr
	t.Cleanup(func() { cancel(); s.server.Close(); wg.Wait() })
	return s
}

// listen serves the pages, at the same address as before if there was one.
func (s *site) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	s.addr, s.server = l.Addr().String(), &http.Server{Handler: s}
	go func(server *http.Server) { _ = server.Serve(l) }(s.server)
}

// newBrowser starts Chromium with a new profile.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	return ctx
}

// A window is a size and a theme.
type window struct {
	width, height int64
	dark          bool
}

func (w window) String() string {
	theme := "light"
	if w.dark {
		theme = "dark"
	}
	return fmt.Sprintf("%d-%s", w.width, theme)
}

var windows = []window{{1440, 900, false}, {1440, 900, true}, {390, 844, false}, {390, 844, true}}

// set makes the browser such a window.
func (w window) set(ctx context.Context) error {
	theme, scale := "light", 1.0
	if w.dark {
		theme = "dark"
	}
	if w.width < 500 {
		scale = 2
	}
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: w.width, Height: w.height, DeviceScaleFactor: scale, Mobile: w.width < 500})
	if err != nil {
		return err
	}
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return err
}

// complaints collects what a browser complains about: errors of the console, exceptions, and
// requests to other hosts.
func complaints(ctx context.Context, home string) func() []string {
	var mu sync.Mutex
	var list []string
	add := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, s)
	}
	entries := chromedp.Events(ctx, cdplog.EntryAdded)
	thrown := chromedp.Events(ctx, runtime.ExceptionThrown)
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for e, err := range entries {
			if err == nil && e.Entry.Level == cdplog.EntryLevelError {
				add("console: " + e.Entry.Text + " " + e.Entry.URL)
			}
		}
	}()
	go func() {
		for e, err := range thrown {
			if err == nil {
				add(fmt.Sprintf("exception: %+v", e.ExceptionDetails))
			}
		}
	}()
	go func() {
		for e, err := range requests {
			if err == nil && !strings.HasPrefix(e.Request.URL, home) && !strings.HasPrefix(e.Request.URL, "data:") {
				add("request to " + e.Request.URL)
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := list
		list = nil
		return out
	}
}

// overflow lists what sticks out of a page to the right, and buttons that are too small for
// a finger.
const overflow = `(() => {
	const w = document.documentElement.clientWidth, out = [];
	if (document.documentElement.scrollWidth > w) {
		out.push('the page scrolls sideways: ' + document.documentElement.scrollWidth);
		for (const e of document.querySelectorAll('main *')) {
			const r = e.getBoundingClientRect();
			if (r.right > w + 1 && !e.closest('.cols, .tabs, svg')) out.push(e.tagName + '.' + e.className + ' ends at ' + Math.round(r.right));
		}
	}
	if (w < 500) for (const e of document.querySelectorAll('button, .btn, nav a')) {
		const r = e.getBoundingClientRect();
		if (r.width && r.height && r.height < 40) out.push('too small: ' + e.textContent.trim().slice(0, 30) + ' ' + Math.round(r.height));
	}
	return out.slice(0, 8);
})()`

// painted waits until a page has loaded with its fonts, and has been drawn.
var painted = chromedp.Evaluate[chromedp.Void](`new Promise(done => {
	const draw = () => document.fonts.ready.then(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));
	document.readyState === 'complete' ? draw() : addEventListener('load', draw);
})`, chromedp.EvalAwaitPromise)

// axeRun lists what axe-core, which stands before it, finds.
const axeRun = `;axe.run(document, {resultTypes: ['violations'], preload: false}).then(r => r.violations.map(v =>
	'axe: ' + v.impact + ' ' + v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + (n.any[0] ? n.any[0].message : '')).join(' | ')))`

// readAxe returns the program axe-core, which looks for what keeps people from using a page.
func readAxe(t *testing.T) string {
	t.Helper()
	packages, err := harness.Install(t.Context(), harness.Dir("web"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(packages.Dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(program)
}

// TestPages shows every page in every window: nothing scrolls sideways, nothing complains.
// BOSSMAN_SHOTS names a directory for pictures.
func TestPages(t *testing.T) {
	s := newSite(t)
	ctx := newBrowser(t)
	questions, err := s.board.Questions(t.Context(), board.QuestionFilter{State: board.QuestionOpen})
	if err != nil || len(questions) == 0 {
		t.Fatal(err)
	}
	risky := questions[0].ID
	for _, q := range questions {
		if strings.Contains(q.Text, "prisma") {
			risky = q.ID
		}
	}
	pages := map[string]string{"signin": "/signin", "now": "/?project=shop", "all": "/", "inbox": "/inbox?project=shop", "question": "/inbox/" + risky.String(), "missing": "/nothing"}
	waiting, err := s.board.List(t.Context(), board.TaskFilter{Projects: []string{"shop"}, Statuses: []board.Status{board.InReview}})
	if err != nil || len(waiting) == 0 {
		t.Fatal("nothing is in review", err)
	}
	pages["reviews"], pages["review"] = "/review", "/review/"+waiting[0].ID.String()
	pages["timeline"], pages["day"] = "/timeline?project=shop", "/timeline?span=24h"
	pages["landing"], pages["keys"], pages["people"], pages["projects"], pages["audit"] = "/landing?project=shop", "/admin", "/admin?tab=people", "/admin?tab=projects", "/admin?tab=audit"
	s.call(t)
	pages["gateway"] = "/gateway"
	pages["board"], pages["found"], pages["list"], pages["new"], pages["plan"] = "/board", "/board?project=shop&q=cart", "/board?state=blocked", "/board/new", "/board/plan?project=shop"
	for name, state := range map[string]board.Status{"working": board.InProgress, "pending": board.Pending, "failed": board.Failed, "done": board.Done} {
		found, err := s.board.List(t.Context(), board.TaskFilter{Projects: []string{"shop"}, Statuses: []board.Status{state}})
		if err != nil || len(found) == 0 {
			t.Fatalf("no task is %s: %v", state, err)
		}
		pages[name] = "/task/" + found[len(found)-1].ID.String()
	}
	pages["edit"], pages["log"], pages["history"] = pages["pending"]+"/edit", pages["working"]+"/log", pages["working"]+"/history"
	if err := s.board.Comment(t.Context(), webtest.Ada, waiting[0].ID, []board.Comment{
		{File: firstFile(t, s, waiting[0].ID), Line: firstLine(t, s, waiting[0].ID) + 1, Text: "Vouchers are taken off after this. Somebody with 52 € and a 5 € voucher pays 47 € and still ships free. Please use the total after vouchers."},
		{File: "config/shipping.ts", Text: "49 € belongs here, next to the rates."},
	}); err != nil {
		t.Fatal(err)
	}
	pages["comment"] = fmt.Sprintf("/review/%v?on=1.%d", waiting[0].ID, firstLine(t, s, waiting[0].ID)+3)
	if only := os.Getenv("BOSSMAN_PAGES"); only != "" {
		for name := range pages {
			if !slices.Contains(strings.Split(only, ","), name) {
				delete(pages, name)
			}
		}
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(s.url+s.door.Link()), chromedp.WaitVisible(chromedp.ID("shell"))); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	axe := readAxe(t)
	told := complaints(ctx, s.url)
	for name, path := range pages {
		for _, w := range windows {
			if err := w.set(ctx); err != nil {
				t.Fatal(err)
			}
			if err := chromedp.Do(ctx, chromedp.Navigate(s.url+path), chromedp.WaitVisible(chromedp.CSS("main")), painted); err != nil {
				t.Fatalf("%s %v: %v", name, w, err)
			}
			sticks, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](overflow))
			if err != nil {
				t.Fatalf("%s %v: %v", name, w, err)
			}
			picture := chromedp.CaptureScreenshot()
			if os.Getenv("BOSSMAN_FULL") != "" {
				picture = chromedp.FullScreenshot(100)
			}
			shot, err := chromedp.Run(ctx, picture)
			if err != nil {
				t.Fatalf("%s %v: %v", name, w, err)
			}
			found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](axe+axeRun, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatalf("%s %v: axe: %v", name, w, err)
			}
			for _, c := range slices.Concat(sticks, found, told()) {
				if name == "missing" && strings.Contains(c, "404") {
					continue
				}
				t.Errorf("%s %v: %s", name, w, c)
			}
			if dir := os.Getenv("BOSSMAN_SHOTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+"-"+w.String()+".png"), shot, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// firstFile and firstLine are where the diff of a task begins.
func firstFile(t *testing.T, s *site, id board.ID) string {
	t.Helper()
	d, err := s.board.Diff(t.Context(), id, 0)
	if err != nil || len(d.Diff.Files) == 0 {
		t.Fatal("there is no diff", err)
	}
	return d.Diff.Files[0].Path
}

func firstLine(t *testing.T, s *site, id board.ID) (n int) {
	t.Helper()
	d, err := s.board.Diff(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(d.Diff.Files[0].Patch, "+")
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

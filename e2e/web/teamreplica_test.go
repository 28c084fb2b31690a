package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// signOut: after signing out, other tabs say so, and the cookie is worth nothing on any replica.
func (s *teamSite) signOut(x *tab) {
	t := x.t
	x.show(s.URL() + "/inbox?project=shop")
	got, err := chromedp.Call(x.ctx, network.GetCookies, network.GetCookiesParams{})
	if err != nil {
		t.Fatal(err)
	}
	var cookies []string
	for _, c := range got.Cookies {
		if !c.HTTPOnly {
			t.Errorf("scripts can read the cookie %s", c.Name)
		}
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	asks := func(address string) (status int, location string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/inbox?project=shop", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = strings.TrimPrefix(s.URL(), "http://") // the cookie is for the balancer's port
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode, res.Header.Get("Location")
	}
	for i, r := range s.Replicas {
		if status, _ := asks("http://" + r.Address()); status != http.StatusOK {
			t.Errorf("replica %d answers %d to the cookie", i, status)
		}
	}
	other := x.another()
	other.do(chromedp.Navigate(s.URL()+"/?project=shop"), chromedp.WaitVisible(chromedp.CSS(".side footer form button")),
		chromedp.Click(chromedp.CSS(".side footer form button")), chromedp.WaitVisible(chromedp.CSS("main.door")))
	begun := time.Now()
	x.soon("document.querySelector('#conn').innerText.includes('You are signed out')", 10*time.Second)
	t.Logf("the other tab said so after %v", time.Since(begun))
	for i, r := range s.Replicas { // as soon as each has heard that the key of the session is revoked
		status, to := asks("http://" + r.Address())
		for ; status == http.StatusOK && time.Since(begun) < harness.Bound(5*time.Second); status, to = asks("http://" + r.Address()) {
			time.Sleep(50 * time.Millisecond)
		}
		if status != http.StatusSeeOther || !strings.HasPrefix(to, "/signin") {
			t.Errorf("replica %d answers %d, %q to the cookie of a session that has ended", i, status, to)
		}
	}
	t.Logf("every replica refused the cookie after %v", time.Since(begun))
	x.enter(s.URL(), s.person)
	x.soon("document.querySelector('.side footer')?.innerText.includes('Ada Lindqvist')", 5*time.Second)
}

// A tcpBalancer sends connections to the first of several addresses that answers.
type tcpBalancer struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	to    []string
	conns map[net.Conn]bool
	sent  map[string]int
}

func newTCPBalancer(t *testing.T, to ...string) *tcpBalancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &tcpBalancer{listener: l, to: to, conns: map[net.Conn]bool{}, sent: map[string]int{}}
	b.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for c := range b.conns {
			c.Close()
		}
		b.mu.Unlock()
		b.wg.Wait()
	})
	return b
}

func (b *tcpBalancer) url() string { return "http://" + b.listener.Addr().String() }

// count returns how many connections an address got.
func (b *tcpBalancer) count(address string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent[address]
}

func (b *tcpBalancer) pass(c net.Conn) {
	defer c.Close()
	for _, address := range b.to {
		up, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			continue
		}
		defer up.Close()
		b.mu.Lock()
		b.sent[address]++
		b.conns[c], b.conns[up] = true, true
		b.mu.Unlock()
		var wg sync.WaitGroup
		for _, way := range [][2]net.Conn{{c, up}, {up, c}} {
			wg.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				c.Close()
				up.Close()
			})
		}
		wg.Wait()
		b.mu.Lock()
		delete(b.conns, c)
		delete(b.conns, up)
		b.mu.Unlock()
		return
	}
}

// replicas: a page of one replica shows what happens at another. When its replica is killed, it goes on at another one,
// and shows what happened meanwhile.
func (s *teamSite) replicas(x *tab) {
	t := x.t
	first, second, third := s.Replicas[0], s.Replicas[1], s.Replicas[2]
	b := newTCPBalancer(t, first.Address(), second.Address())
	x.enter(b.url(), s.person)
	x.soon("document.querySelector('.side footer')?.innerText.includes('Ada Lindqvist')", 5*time.Second)
	x.show(b.url() + "/board?project=shop")
	w := s.connect(t, third.MCP())
	create := func(title string) string {
		return w.call("create_task", map[string]any{"project": "shop", "title": title}).ID
	}
	tile := func(id string) string { return fmt.Sprintf("document.querySelector('#t-%s')", id) }
	begun := time.Now()
	x.soon(tile(create("Before")), 10*time.Second)
	if took := time.Since(begun); took > aSecond {
		t.Errorf("the event of another replica took %v, want %v", took, aSecond)
	} else {
		t.Logf("the event of another replica was shown after %v", took)
	}
	if b.count(second.Address()) != 0 {
		t.Fatal("the page is not that of the first replica alone")
	}

	first.Kill()
	begun = time.Now()
	meanwhile := []string{create("Meanwhile, one"), create("Meanwhile, two"), create("Meanwhile, three")}
	x.soon(isLive+" && "+tile(meanwhile[0])+" && "+tile(meanwhile[1])+" && "+tile(meanwhile[2]), 20*time.Second)
	t.Logf("the page was live again, with everything, %v after its replica was killed", time.Since(begun))
	if b.count(second.Address()) == 0 {
		t.Error("the second replica has served nothing")
	}
	begun = time.Now()
	x.soon(tile(create("After")), 10*time.Second)
	if took := time.Since(begun); took > aSecond {
		t.Errorf("after that, an event took %v, want %v", took, aSecond)
	} else {
		t.Logf("after that, an event was shown after %v", took)
	}
	x.soon("document.querySelector('#conn').innerText === ''", 5*time.Second)
}

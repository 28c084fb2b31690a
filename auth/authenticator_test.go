package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// running gives an Authenticator whose Run runs until the test ends.
func running(t *testing.T, m Store, o *Options) *Authenticator {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	a := New(m, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	synctest.Wait()
	return a
}

func create(t *testing.T, a *Authenticator, owner string, life time.Duration) (Key, string) {
	t.Helper()
	n := NewKey{Owner: owner, Project: "web", Role: Worker}
	if life > 0 {
		n.Expires = time.Now().Add(life)
	}
	k, text, err := a.CreateKey(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return k, text.Reveal()
}

func opens(t *testing.T, a *Authenticator, text string) *Principal {
	t.Helper()
	p, err := a.Token(t.Context(), text)
	if err != nil {
		t.Fatalf("Token() = %v", err)
	}
	return p
}

func over(p *Principal) bool {
	select {
	case <-p.Revoked:
		return true
	default:
		return false
	}
}

// soon waits until a principal has ended, five seconds at most.
func soon(t *testing.T, p *Principal, since time.Time) {
	t.Helper()
	select {
	case <-p.Revoked:
	case <-time.After(grace - time.Since(since)):
		t.Errorf("%s has not ended after %v", p.Name, grace)
	}
}

// forged is a well-formed key with another's id.
func forged(id string) string {
	_, text, _ := newKey()
	parts := strings.Split(text.Reveal(), "_")
	secret, _ := base32Lower.DecodeString(parts[2])
	sum := checksum(id, secret[:secretLen])
	return keyPrefix + id + "_" + base32Lower.EncodeToString(append(secret[:secretLen], sum[:]...))
}

// TestToken_uniform: whatever is wrong, the answer is the same value.
func TestToken_uniform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(newMemory(), nil)
		good, text := create(t, a, "ada", 0)
		revoked, revokedText := create(t, a, "ada", 0)
		_, expired := create(t, a, "ada", time.Minute)
		_, disabled := create(t, a, "bob", 0)
		_, err := a.RevokeKey(t.Context(), revoked.ID, "")
		if err := errors.Join(err, a.DisablePerson(t.Context(), "bob")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for what, s := range map[string]string{
			"an unknown id": forged("aaaaaaaaaaaa"), "a wrong secret": forged(good.ID), "revoked": revokedText,
			"expired": expired, "a disabled owner": disabled, "mistyped": text[:len(text)-1] + "0", "no key": "hello", "nothing": "",
			"a token, with no issuer": "a.b.c",
		} {
			for range 2 {
				if p, err := a.Token(t.Context(), s); err != ErrUnauthenticated || p != nil {
					t.Errorf("%s: Token() = %v, %v, want ErrUnauthenticated itself", what, p, err)
				}
			}
		}
		opens(t, a, text)
	})
}

func TestToken_costsNoQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		k, text := create(t, a, "ada", 0)
		for range 100 {
			opens(t, a, text)
			time.Sleep(time.Second)
		}
		if m.asked() != 1 {
			t.Errorf("100 calls made %d queries", m.asked())
		}
		// Guessing at a known id costs none either, and does not lock its owner out.
		for range 100 {
			if _, err := a.Token(t.Context(), forged(k.ID)); err == nil {
				t.Fatal("a guess opened")
			}
		}
		opens(t, a, text)
		if m.asked() != 1 {
			t.Errorf("guessing made %d queries", m.asked())
		}
	})
}

// TestToken_withoutRun: each look is good for five seconds.
func TestToken_withoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a, b := New(m, nil), New(m, nil)
		k, text := create(t, a, "ada", 0)
		p := opens(t, b, text)
		if _, err := a.RevokeKey(t.Context(), k.ID, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(grace + time.Millisecond)
		if _, err := b.Token(t.Context(), text); err != ErrUnauthenticated {
			t.Errorf("Token() = %v", err)
		}
		if !over(p) {
			t.Error("the principal goes on")
		}
	})
}

func TestRun_revokes(t *testing.T) {
	for what, end := range map[string]func(context.Context, *Authenticator, Key) error{
		"a key": func(ctx context.Context, a *Authenticator, k Key) error {
			_, err := a.RevokeKey(ctx, k.ID, "")
			return err
		},
		"a person": func(ctx context.Context, a *Authenticator, k Key) error { return a.DisablePerson(ctx, k.Owner) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				here, there := running(t, m, nil), running(t, m, nil)
				k, text := create(t, here, "ada", 0)
				_, other := create(t, here, "bob", 0)
				p, q, stays := opens(t, there, text), opens(t, here, text), opens(t, there, other)
				since := time.Now()
				if err := end(t.Context(), here, k); err != nil {
					t.Fatal(err)
				}
				if !over(q) {
					t.Error("it goes on where it was ended")
				}
				soon(t, p, since)
				if _, err := there.Token(t.Context(), text); err != ErrUnauthenticated {
					t.Errorf("Token() = %v", err)
				}
				if over(stays) {
					t.Error("another key ended too")
				}
			})
		})
	}
}

// TestRun_revokedWhileLookedUp: a key that is revoked between the store's answer and
// its being remembered does not stay remembered.
func TestRun_revokedWhileLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		k, text := create(t, a, "ada", 0)
		once := true
		m.found = func() {
			if !once {
				return
			}
			once = false
			if _, err := m.RevokeKey(t.Context(), k.ID, "", time.Now()); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second) // Run looks meanwhile, and finds nothing to end
		}
		if p, err := a.Token(t.Context(), text); err != ErrUnauthenticated {
			t.Errorf("Token() = %v, %v", p, err)
		}
		if m.asked() != 2 {
			t.Errorf("%d queries, want 2", m.asked())
		}
	})
}

func TestRun_expires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := running(t, newMemory(), nil)
		_, text := create(t, a, "ada", 90*time.Second)
		p := opens(t, a, text)
		time.Sleep(90*time.Second - time.Millisecond)
		opens(t, a, text)
		time.Sleep(time.Millisecond)
		if _, err := a.Token(t.Context(), text); err != ErrUnauthenticated {
			t.Errorf("Token() = %v", err)
		}
		soon(t, p, time.Now())
	})
}

// TestRun_storeDown: what is remembered counts for five seconds more.
func TestRun_storeDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		_, text := create(t, a, "ada", 0)
		_, cold := create(t, a, "ada", 0)
		p := opens(t, a, text)
		m.setDown(errDown)
		if _, err := a.Token(t.Context(), cold); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnauthenticated) {
			t.Errorf("Token(not remembered) = %v, want ErrUnavailable", err)
		}
		time.Sleep(4 * time.Second)
		opens(t, a, text)
		time.Sleep(2 * time.Second)
		before := m.asked()
		for range 10 {
			if _, err := a.Token(t.Context(), text); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errDown) {
				t.Errorf("Token(remembered) = %v, want ErrUnavailable with its cause", err)
			}
		}
		if m.asked() != before {
			t.Error("a store that is down is asked by every call")
		}
		m.setDown(nil)
		time.Sleep(2 * time.Second)
		opens(t, a, text)
		opens(t, a, cold)
		if over(p) {
			t.Error("what was open has ended")
		}
	})
}

// TestRun_backup: a store whose versions go back makes everybody show themselves.
func TestRun_backup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.version = 7
		a := running(t, m, nil)
		_, text := create(t, a, "ada", 0)
		p := opens(t, a, text)
		m.mu.Lock()
		m.version = 3
		m.mu.Unlock()
		soon(t, p, time.Now())
		opens(t, a, text)
	})
}

func TestRun_notesLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		k, text := create(t, a, "ada", 0)
		_, second := create(t, a, "ada", 0)
		for range 6 * 60 { // six minutes
			opens(t, a, text)
			time.Sleep(time.Second)
		}
		opens(t, a, second)
		times := 0
		for _, w := range m.written() {
			if _, ok := w[k.ID]; ok {
				times++
			}
		}
		if times < 5 || times > 7 {
			t.Errorf("six minutes of use were written %d times", times)
		}
		// What cannot be written is kept for later.
		m.setDown(errDown)
		time.Sleep(writeEvery)
		m.setDown(nil)
		before := len(m.written())
		time.Sleep(2 * writeEvery)
		if after := m.written()[before:]; len(after) != 1 || len(after[0]) != 1 {
			t.Errorf("then %v was written", after)
		}
	})
}

func TestSize_bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, &Options{Size: 10})
		var first *Principal
		for i := range 30 {
			_, text := create(t, a, fmt.Sprint("p", i), 0)
			if p := opens(t, a, text); first == nil {
				first = p
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.known.len() != 10 || len(a.used) > 10 {
			t.Errorf("%d are remembered, and %d uses", a.known.len(), len(a.used))
		}
		if !over(first) {
			t.Error("who was pushed out goes on, and nobody would tell when it is revoked")
		}
	})
}

func TestFailures_limit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		_, known := create(t, a, "ada", 0)
		_, cold := create(t, a, "ada", 0)
		if _, err := a.check(t.Context(), known, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		before, limited, begun := m.asked(), 0, time.Now()
		for i := range 200 {
			id := "aaaaaaaaaa" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			if _, err := a.check(t.Context(), forged(id), "192.0.2.1"); errors.Is(err, ErrTooMany) {
				limited++
			}
		}
		// They come one after the other, so each waits for a query of its own.
		if lasted := time.Since(begun); limited < 150 || lasted < 15*time.Second || m.asked()-before != 200 {
			t.Errorf("of 200 failures from one address in %v %d were refused as too many, and there were %d queries", lasted, limited, m.asked()-before)
		}
		// Who is known goes on, also from there; others from elsewhere.
		if _, err := a.check(t.Context(), known, "192.0.2.1"); err != nil {
			t.Errorf("a known key: %v", err)
		}
		begun = time.Now()
		if _, err := a.check(t.Context(), cold, "192.0.2.1"); err != nil || time.Since(begun) > 2*bulkEvery {
			t.Errorf("a good key that is not cached, from there: %v after %v", err, time.Since(begun))
		}
		var err error
		for range 3 { // meanwhile one or two failures are allowed again
			_, err = a.check(t.Context(), forged("bbbbbbbbbbbb"), "192.0.2.1")
		}
		if e, ok := errors.AsType[*LimitError](err); !ok || e.After <= 0 || e.After > failureEvery {
			t.Errorf("one more wrong key: %v", err)
		}
		if status, after := Status(err); status != 429 || after != 1 {
			t.Errorf("Status() = %d, %d", status, after)
		}
	})
}

// TestFailures_crowd: very many wrong keys, from one address or from many, cost the store a few
// queries, and good keys among them are found at once.
func TestFailures_crowd(t *testing.T) {
	for name, addresses := range map[string]int{"one address": 1, "many addresses": 10_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				a := running(t, m, nil)
				from := func(i int) string { return fmt.Sprintf("10.0.%d.%d", i%addresses>>8, i%addresses&255) }
				var good []string
				for range 10 {
					_, text := create(t, a, "ada", 0)
					good = append(good, text)
				}
				const keys, clients = 20_000, 1000
				before, begun := m.asked(), time.Now()
				var wg sync.WaitGroup
				for c := range clients {
					wg.Go(func() {
						for i := c; i < keys; i += clients {
							if _, err := a.check(t.Context(), forged(numbered(i)), from(i)); !errors.Is(err, ErrUnauthenticated) && !errors.Is(err, ErrTooMany) {
								t.Errorf("a wrong key: %v", err)
							}
						}
					})
				}
				for _, text := range good {
					time.Sleep(500 * time.Millisecond)
					begun := time.Now()
					if _, err := a.check(t.Context(), text, from(0)); err != nil || time.Since(begun) > 2*bulkEvery {
						t.Errorf("a good key among them: %v after %v, want nil within %v", err, time.Since(begun), 2*bulkEvery)
					}
				}
				wg.Wait()
				lasted := time.Since(begun)
				if n, most := m.asked()-before, failuresBurst+2*maxDirect+int(lasted/bulkEvery)+int(lasted/failuresEvery)+len(good)+2; n > most {
					t.Errorf("%d wrong keys in %v cost %d queries, want at most %d", keys, lasted, n, most)
				}
			})
		})
	}
}

// TestFailures_staleKey: whoever keeps sending a revoked key costs no queries, and keeps
// nobody behind the same address from being let in.
func TestFailures_staleKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		old, stale := create(t, a, "eve", 0)
		if _, err := a.RevokeKey(t.Context(), old.ID, ""); err != nil {
			t.Fatal(err)
		}
		before := m.asked()
		for range 600 { // a minute of a laptop that was forgotten
			if _, err := a.check(t.Context(), stale, "192.0.2.1"); err == nil {
				t.Fatal("a revoked key is accepted")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := m.asked() - before; n > 15 {
			t.Errorf("a revoked key cost %d queries in a minute, want one in %v", n, grace)
		}
		for range 50 {
			_, text := create(t, a, "ada", 0)
			if _, err := a.check(t.Context(), text, "192.0.2.1"); err != nil {
				t.Fatalf("a good key from the same address: %v", err)
			}
		}
		k, text := create(t, a, "bob", 0)
		if err := a.DisablePerson(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.check(t.Context(), text, "192.0.2.2"); err == nil {
			t.Errorf("key %s of a disabled person is accepted", k.ID)
		}
		if err := a.EnablePerson(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.check(t.Context(), text, "192.0.2.2"); err != nil {
			t.Errorf("the key of a person who was enabled again: %v", err)
		}
	})
}

// numbered is the id of a key that does not exist.
func numbered(i int) string {
	id := []byte("aaaaaaaaaaaa")
	for at := len(id) - 1; i > 0; at, i = at-1, i/26 {
		id[at] += byte(i % 26)
	}
	return string(id)
}

// TestFailures_byID: guesses at an id that is not there soon cost no query.
func TestFailures_byID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := running(t, m, nil)
		for i := range 100 {
			_, _ = a.check(t.Context(), forged("aaaaaaaaaaaa"), fmt.Sprintf("192.0.2.%d", i))
		}
		if m.asked() > failureBurst {
			t.Errorf("%d queries, want at most %d", m.asked(), failureBurst)
		}
		for i := range 2 * failuresSize {
			_, _ = a.check(t.Context(), "bossman_x", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		}
		if n := a.failures.buckets.len(); n != failuresSize {
			t.Errorf("%d buckets, want %d", n, failuresSize)
		}
	})
}

func TestFailureNames_networks(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1": "ip 192.0.2.1", "2001:db8::1": "ip 2001:db8::/64", "2001:db8:0:0:ffff::9": "ip 2001:db8::/64",
		"::ffff:192.0.2.1": "ip ::ffff:192.0.2.1", "fe80::1%eth0": "ip fe80::/64", "pipe": "ip pipe",
	} {
		if got := failureNames(from, "")[0]; got != want {
			t.Errorf("failureNames(%s) = %s, want %s", from, got, want)
		}
	}
	if got := failureNames("", ""); len(got) != 0 {
		t.Errorf("failureNames() = %v", got)
	}
}

// A call that had begun when its key was revoked may take something after that was taken
// back: Revoked is called again, unless the key is valid.
func TestRun_revokedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		a := running(t, newMemory(), &Options{Revoked: func(_ context.Context, ids []string) {
			for _, id := range ids {
				told[id]++
			}
		}})
		gone, _ := create(t, a, "eve", 0)
		back, text := create(t, a, "ada", 0)
		opens(t, a, text)
		lowered, _ := create(t, a, "ada", 0)
		if _, err := a.LowerKey(t.Context(), lowered.ID, "web", Viewer, "root"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.RevokeKey(t.Context(), gone.ID, "root"); err != nil {
			t.Fatal(err)
		}
		if err := a.DisablePerson(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(defaultPoll + time.Millisecond)
		if err := a.EnablePerson(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := told[KeyPrincipal(gone.ID)]; got != 1+tellAgain {
			t.Errorf("told of a revoked key %d times, want %d", got, 1+tellAgain)
		}
		if got := told[KeyPrincipal(back.ID)]; got != 1 {
			t.Errorf("told of a person who is back %d times, want 1", got)
		}
		if got := told[KeyPrincipal(lowered.ID)]; got != 1 {
			t.Errorf("told of a lowered key %d times, want 1", got)
		}
	})
}

// TestRun_expired: what was done with a key that has expired is over, also if somebody still
// tries it; a key that was renewed in time goes on.
func TestRun_expired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over []string
		m := newMemory()
		a := running(t, m, &Options{Revoked: func(_ context.Context, ids []string) { over = append(over, ids...) }})
		tried, old := create(t, a, "ada", time.Hour)
		left, other := create(t, a, "bob", time.Hour)
		n := NewKey{Owner: "eve", Person: true, Project: "web", Role: Worker, Machine: "laptop", Expires: time.Now().Add(time.Hour)}
		k, renewed, err := a.CreateKey(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{old, other, renewed.Reveal()} {
			opens(t, a, text)
		}
		n.Expires = time.Now().Add(2 * time.Hour)
		if _, err := a.RenewKey(t.Context(), k.ID, n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, err := a.Token(t.Context(), old); err != ErrUnauthenticated {
			t.Errorf("an expired key: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		slices.Sort(over)
		want := []string{KeyPrincipal(tried.ID), KeyPrincipal(left.ID)}
		slices.Sort(want)
		if !slices.Equal(over, want) {
			t.Errorf("over are %v, want %v", over, want)
		}
		opens(t, a, renewed.Reveal())
	})
}

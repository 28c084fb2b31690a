package server

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
)

// withTasks are the capabilities of a client that shows forms and knows tasks.
const withTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}`

// askHuman asks a question that only a person may answer, in a call that is a task, and
// returns the task's id when its form is there.
func (k *testClient) askHuman() (task string) {
	k.t.Helper()
	k.capabilities = withTasks
	var made struct {
		TaskID string `json:"taskId"`
	}
	got := k.tool("ask_question", `{"question":"May I delete it?","human_only":true,"wait_seconds":45}`)
	if err := json.Unmarshal(got.result, &made); err != nil || made.TaskID == "" {
		k.t.Fatalf("ask_question: %s", got.text)
	}
	k.until(func() bool {
		return strings.Contains(k.ask("tasks/get", `{"taskId":"`+made.TaskID+`"}`).text, `"input_required"`)
	})
	return made.TaskID
}

// until waits until something is true, for as long as ending an access may take.
func (k *testClient) until(is func() bool) {
	k.t.Helper()
	for begun := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			k.t.Fatal("it still is as it was after a minute")
		}
	}
}

// fillIn fills in the form of a task.
func (k *testClient) fillIn(task string) reply {
	k.t.Helper()
	return k.ask("tasks/update", `{"taskId":"`+task+`","inputResponses":{"answer":{"action":"accept","content":{"answer":"Yes"}}}}`)
}

// question is the only question there is.
func (s *testServer) question() board.Question {
	s.t.Helper()
	all, err := s.board.Questions(s.t.Context(), board.QuestionFilter{})
	if err != nil || len(all) != 1 {
		s.t.Fatalf("the questions are %+v, %v", all, err)
	}
	return all[0]
}

// TestRights_durable: a call that goes on without its client ends when its key loses rights,
// and nobody answers through it any more.
func TestRights_durable(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*auth.Authenticator, auth.Key) error{
		"a lower role": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.LowerKey(t.Context(), k.ID, auth.EveryProject, auth.Viewer, "")
			return err
		},
		"a project less": func(a *auth.Authenticator, k auth.Key) error {
			_, err := a.LowerKey(t.Context(), k.ID, "web", auth.Worker, "")
			return err
		},
		"a disabled person": func(a *auth.Authenticator, k auth.Key) error { return a.DisablePerson(t.Context(), k.Owner) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Options{})
			k, secret, err := s.keys.CreateKey(t.Context(), auth.NewKey{Owner: "eve", Person: true, Project: auth.EveryProject, Role: auth.Worker})
			if err != nil {
				t.Fatal(err)
			}
			eve := s.client(secret.Reveal(), newest)
			task := eve.askHuman()
			// Another replica's doing: this one hears of it from the store.
			other := auth.New(s.store, nil)
			if err := end(other, k); err != nil {
				t.Fatal(err)
			}
			get := `{"taskId":"` + task + `"}`
			eve.until(func() bool { return !strings.Contains(eve.ask("tasks/get", get).text, `"input_required"`) })
			if err := other.EnablePerson(t.Context(), "eve"); err != nil {
				t.Fatal(err)
			}
			var got reply
			eve.until(func() bool { got = eve.ask("tasks/get", get); return got.status != 401 })
			if !strings.Contains(got.text, "unknown task") && !strings.Contains(got.text, `"status":"failed"`) {
				t.Errorf("the call goes on: %s", got.text)
			}
			if got := eve.fillIn(task); what != "a disabled person" && !strings.Contains(got.text, "unknown task") {
				t.Errorf("the form was taken: %s", got.text)
			}
			if q := s.question(); q.State != board.QuestionOpen {
				t.Errorf("the question was answered by %s (%s)", q.AnsweredBy, q.AnsweredAs)
			}
		})
	}
}

// An issuer is a company's authorization server.
type testIssuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newTestIssuer(t *testing.T) *testIssuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	is := &testIssuer{key: key}
	is.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jwks" {
			fmt.Fprintf(w, `{"keys":[{"kty":"RSA","kid":"one","use":"sig","n":%q,"e":%q}]}`, b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes()))
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, is.URL, is.URL+"/jwks")
	}))
	t.Cleanup(is.Close)
	return is
}

// options are those of a server that takes the issuer's tokens.
func (is *testIssuer) options() Options {
	return Options{
		Issuer: is.URL, Audience: "https://bossman.example.org/mcp", Person: []auth.Match{{Claim: "groups", Value: "staff"}},
		Rules: []auth.Rule{{Claim: "groups", Value: "eng", Project: "web", Role: auth.Lead}},
	}
}

// token makes a token of a subject in the groups eng and staff, with more claims.
func (is *testIssuer) token(t *testing.T, sub string, more map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": is.URL, "aud": is.options().Audience, "sub": sub, "exp": time.Now().Add(time.Minute).Unix(), "azp": "app", "groups": []string{"eng", "staff"},
	}
	maps.Copy(claims, more)
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	input := b64([]byte(`{"alg":"RS256","kid":"one"}`)) + "." + b64(text)
	sum := sha256.Sum256([]byte(input))
	sig, err := rsa.SignPKCS1v15(nil, is.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + b64(sig)
}

// TestRights_tokens: a token that may less than another one of the same subject does nothing
// through what the other one began.
func TestRights_tokens(t *testing.T) {
	t.Parallel()
	is := newTestIssuer(t)
	for what, less := range map[string]map[string]any{
		"a program that acts for the person": {"act": map[string]any{"sub": "bot"}},
		"a smaller scope":                    {"scope": "bossman:viewer"},
		"not a person's":                     {"groups": []string{"eng"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, is.options())
			ada, program := s.client(is.token(t, "u-1", nil), newest), s.client(is.token(t, "u-1", less), newest)
			program.capabilities = withTasks
			task := ada.askHuman()
			for _, method := range []string{"tasks/get", "tasks/cancel"} {
				if got := program.ask(method, `{"taskId":"`+task+`"}`); !strings.Contains(got.text, "unknown task") {
					t.Errorf("%s: %s", method, got.text)
				}
			}
			if got := program.fillIn(task); !strings.Contains(got.text, "unknown task") || s.question().State != board.QuestionOpen {
				t.Errorf("the program answered: %s; %+v", got.text, s.question())
			}
			old := s.client(is.token(t, "u-1", nil), "2025-06-18")
			old.key = is.token(t, "u-1", less)
			if got := old.ask("tools/list", `{}`); got.status != http.StatusNotFound {
				t.Errorf("in the session of the other token: %d %s", got.status, got.text)
			}
			// A token that may the same goes on with it.
			ada.key = is.token(t, "u-1", map[string]any{"jti": "2"})
			if got := ada.fillIn(task); got.code != 0 {
				t.Errorf("a newer token: %s", got.text)
			}
			ada.until(func() bool { return s.question().State == board.QuestionAnswered })
			if q := s.question(); q.AnsweredAs != board.ByPerson {
				t.Errorf("answered as %s", q.AnsweredAs)
			}
		})
	}
}

// TestRights_name: whoever takes another's name at the issuer is not taken for them.
func TestRights_name(t *testing.T) {
	t.Parallel()
	is := newTestIssuer(t)
	s := newTestServer(t, is.options())
	q, err := s.board.Ask(t.Context(), board.Actor{Principal: "bob", Owner: "bob", Name: "bob"}, board.NewQuestion{Project: "web", Text: "May I push?", HumanOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	eve := s.client(is.token(t, "u-eve", map[string]any{"name": "ada"}), newest)
	if got := eve.ask("bossman/answer", fmt.Sprintf(`{"as":{"person":true},"args":{"ID":%d,"Answer":"Yes, says ada"}}`, q.ID)); got.code != 0 {
		t.Fatal(got.text)
	}
	if q := s.question(); q.AnsweredBy != "u-eve alias ada" || q.AnsweredAs != board.ByPerson {
		t.Errorf("answered by %s (%s)", q.AnsweredBy, q.AnsweredAs)
	}
}

// TestRights_ownWork: a program does not judge its own work by saying that it is another
// process. The processes of a person's machine are different workers.
func TestRights_ownWork(t *testing.T) {
	t.Parallel()
	for _, person := range []bool{false, true} {
		t.Run(fmt.Sprintf("person %t", person), func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Options{})
			if err := s.board.SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyReview}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.board.Create(t.Context(), board.Actor{Principal: "bob", Person: true}, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
				t.Fatal(err)
			}
			k := s.client(s.key("web", auth.Lead, person), newest)
			var out struct {
				Value struct {
					Claim struct {
						Task, Nonce string
						Attempt     int
						Worker      struct{ Name string }
					}
				} `json:"value"`
			}
			got := k.ask("bossman/next", `{"as":{"owner":"p-1"},"args":{"Projects":["web"],"Key":"n"}}`)
			if err := json.Unmarshal(got.result, &out); err != nil || out.Value.Claim.Task != "web-1" {
				t.Fatalf("%s, %v", got.text, err)
			}
			c := out.Value.Claim
			if got := k.ask("bossman/done", fmt.Sprintf(`{"as":{"owner":"p-1","worker":%q},"args":{"Claim":{"Task":"web-1","Attempt":%d,"Nonce":%q},"Report":{"Summary":"Done."}}}`, c.Worker.Name, c.Attempt, c.Nonce)); got.code != 0 {
				t.Fatal(got.text)
			}
			for _, as := range []string{`{"owner":"p-1"}`, `{"owner":"p-2"}`, `{}`} {
				got := k.ask("bossman/review", `{"as":`+as+`,"args":{"ID":"web-1","Verdict":"accept"}}`)
				if accepted := got.code == 0; accepted != (person && as != `{"owner":"p-1"}`) {
					t.Errorf("accepted by %s: %s", as, got.text)
				}
				if got.code == 0 {
					return
				}
			}
			other := s.client(s.key("web", auth.Lead, false), newest)
			if got := other.tool("review_task", `{"task":"web-1","verdict":"accept"}`); got.kind != "" {
				t.Errorf("another key: %s", got.text)
			}
		})
	}
}

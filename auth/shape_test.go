package auth

import (
	"maps"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

type object = map[string]any

// shapes are access tokens as ten issuers make them, of programs and of people, and the
// claim by which an operator tells them apart. Some issuers have tokens for programs only.
var shapes = []struct {
	issuer   string
	people   Match
	programs []object
	persons  []object
}{
	{
		"Keycloak",
		Match{"realm_access.roles", "employee"},
		[]object{
			// A service account, of an older and of a newer release.
			{"sub": "0f5c", "azp": "ci", "typ": "Bearer", "clientId": "ci", "clientHost": "10.0.0.7", "preferred_username": "service-account-ci", "email_verified": false, "realm_access": object{"roles": []string{"default-roles-main"}}},
			{"sub": "0f5c", "azp": "ci", "typ": "Bearer", "client_id": "ci", "preferred_username": "service-account-ci", "realm_access": object{"roles": []string{"offline_access"}}},
		},
		[]object{{"sub": "77aa", "azp": "bossman", "typ": "Bearer", "sid": "5e", "acr": "1", "name": "Ada L", "preferred_username": "ada", "realm_access": object{"roles": []string{"default-roles-main", "employee"}}}},
	},
	{
		"Okta",
		Match{"groups", "staff"},
		[]object{{"sub": "0oa1ci", "cid": "0oa1ci", "ver": 1, "scp": []string{"tasks"}}},
		[]object{{"sub": "ada@example.org", "cid": "0oa2web", "uid": "00u1", "ver": 1, "auth_time": 1, "scp": []string{"openid"}, "groups": []string{"Everyone", "staff"}}},
	},
	{
		"Entra",
		Match{"idtyp", "user"},
		[]object{
			{"sub": "b1d2", "oid": "b1d2", "azp": "6e74", "azpacr": "1", "idtyp": "app", "roles": []string{"Task.Write"}, "tid": "72f9", "ver": "2.0"},
			{"sub": "b1d2", "oid": "b1d2", "appid": "6e74", "appidacr": "1", "roles": []string{"Task.Write"}, "tid": "72f9", "ver": "1.0"},
		},
		[]object{{"sub": "AAAA", "oid": "c3e4", "azp": "6e74", "idtyp": "user", "scp": "access_as_user", "name": "Ada", "preferred_username": "ada@example.org", "tid": "72f9", "ver": "2.0"}},
	},
	{
		"Kubernetes",
		Match{"groups", "staff"},
		[]object{{"sub": "system:serviceaccount:ci:runner", "jti": "1", "kubernetes.io": object{"namespace": "ci", "pod": object{"name": "runner-1"}, "serviceaccount": object{"name": "runner", "uid": "9"}}}},
		nil,
	},
	{
		"GitHub Actions",
		Match{"groups", "staff"},
		[]object{{"sub": "repo:example/web:ref:refs/heads/main", "repository": "example/web", "repository_owner": "example", "actor": "ada", "actor_id": "12", "event_name": "push", "workflow": "ci", "runner_environment": "github-hosted", "job_workflow_ref": "example/web/.github/workflows/ci.yml@refs/heads/main"}},
		nil,
	},
	{
		"GitLab CI",
		Match{"groups", "staff"},
		[]object{{"sub": "project_path:example/web:ref_type:branch:ref:main", "user_login": "ada", "user_email": "ada@example.org", "user_id": "12", "pipeline_source": "push", "runner_environment": "gitlab-hosted", "groups_direct": []string{"example"}}},
		nil,
	},
	{
		"Zitadel",
		Match{"email_verified", "true"},
		[]object{
			{"sub": "2841", "client_id": "ci", "urn:zitadel:iam:user:resourceowner:id": "11", "urn:zitadel:iam:org:project:roles": object{"lead": object{"11": "example.org"}}},
			{"sub": "2841", "jti": "V2_1", "preferred_username": "ci", "name": "CI"},
		},
		[]object{{"sub": "2966", "client_id": "3001@bossman", "name": "Ada", "preferred_username": "ada", "email": "ada@example.org", "email_verified": true}},
	},
	{
		"Auth0",
		Match{"https://example.org/roles", "staff"},
		[]object{
			{"sub": "k3y@clients", "azp": "k3y", "gty": "client-credentials", "scope": "tasks"},
			{"sub": "k3y@clients", "azp": "k3y", "gty": "client-credentials", "https://example.org/roles": []string{"staff"}}, // a role too many
		},
		[]object{{"sub": "auth0|123", "azp": "k3y", "scope": "openid profile", "https://example.org/roles": []string{"staff"}}},
	},
	{
		"Cognito",
		Match{"cognito:groups", "staff"},
		[]object{{"sub": "4ci", "client_id": "4ci", "token_use": "access", "version": 2, "scope": "tasks/write"}},
		[]object{{"sub": "aaaa-bb", "client_id": "4web", "token_use": "access", "username": "ada", "cognito:groups": []string{"staff"}}},
	},
	{
		"Google",
		Match{"hd", "example.org"},
		[]object{{"sub": "1157", "azp": "1157", "email": "ci@example.iam.gserviceaccount.com", "email_verified": true}},
		[]object{{"sub": "1088", "azp": "4.apps.googleusercontent.com", "hd": "example.org", "email": "ada@example.org", "email_verified": true}},
	},
}

// TestToken_shapes: nobody is a person unless a configured claim says so, whichever issuer
// made the token, and no program is a person by the claim of any of them.
func TestToken_shapes(t *testing.T) {
	s := newAuthority(t)
	person := func(token object, people ...Match) bool {
		t.Helper()
		edits := object{"name": nil, "client_id": nil, "groups": nil, "scope": nil}
		maps.Copy(edits, token)
		a := s.authenticator(newMemory(), func(o *Options) { o.Person = people })
		return opens(t, a, s.token(t, edits)).Person
	}
	var every []Match
	for _, x := range shapes {
		every = append(every, x.people)
	}
	for _, x := range shapes {
		for i, token := range x.programs {
			if person(token) || person(token, every...) {
				t.Errorf("program %d of %s is taken for a person", i, x.issuer)
			}
		}
		for i, token := range x.persons {
			if person(token) {
				t.Errorf("person %d of %s is taken for one, and nobody said so", i, x.issuer)
			}
			if !person(token, x.people) {
				t.Errorf("person %d of %s is not known by %v", i, x.issuer, x.people)
			}
		}
	}
}

// TestShapes_service: a token that is a service's by its name is not a person's, also if an
// operator gave the service what people have.
func TestShapes_service(t *testing.T) {
	match := []Match{{"groups", "staff"}}
	for _, c := range []claims{
		{"sub": jsontext.Value(`"0f5c"`), "preferred_username": jsontext.Value(`"service-account-ci"`)},
		{"sub": jsontext.Value(`"system:serviceaccount:ci:runner"`)},
		{"sub": jsontext.Value(`"repo:example/web:ref:refs/heads/main"`)},
		{"sub": jsontext.Value(`"project_path:example/web:ref_type:branch:ref:main"`)},
		{"sub": jsontext.Value(`"spiffe://example.org/ci"`)},
		{"sub": jsontext.Value(`"b1d2"`), "idtyp": jsontext.Value(`"app"`)},
	} {
		c["groups"] = jsontext.Value(`["staff"]`)
		if c.person(match) {
			t.Errorf("%v is a person", c)
		}
	}
	if c := (claims{"sub": jsontext.Value(`"ada"`), "preferred_username": jsontext.Value(`"ada"`), "groups": jsontext.Value(`["staff"]`)}); !c.person(match) {
		t.Errorf("%v is not a person", c)
	}
}

package issuer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kx-apiserver/kx/server/authn/bearer"
	"github.com/kx-apiserver/kx/server/peertest"
)

const (
	limit = 3 * time.Minute
	ours  = "https://cluster.example"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configured makes a configuration of items of the list jwt, and of what follows it.
func configured(text string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n" + text
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func of(i *peertest.Issuer, rest string) string {
	return fmt.Sprintf("- issuer: {url: %q, audiences: [kx, also], audienceMatchPolicy: MatchAny, certificateAuthority: %s}\n%s\n", i.URL, quoted(i.CA), rest)
}

func newIssuers(t *testing.T, c Config) (*Issuers, error) {
	t.Helper()
	c.Ours, c.Registry, c.Log = []string{ours}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	return New(t.Context(), c)
}

func fromFile(t *testing.T, text string) (i *Issuers, file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "authentication.yaml")
	write(t, file, text)
	i, err = newIssuers(t, Config{File: file})
	return i, file, err
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain: " + what)
		}
	}
}

func reached(t *testing.T, i *Issuers) {
	t.Helper()
	until(t, "all issuers are reached", func() bool { return i.current.Load().ready() == nil })
}

// shown is a user in one line, or what its client may hear of why there is none.
func shown(i *Issuers, token string) string {
	answer, ok, err := i.AuthenticateToken(context.Background(), token)
	switch {
	case err != nil:
		if _, rest := bearer.SplitRejections(err); rest != nil {
			err = rest
		}
		return "error: " + strings.ReplaceAll(err.Error(), token, "TOKEN")
	case !ok:
		return "nobody"
	}
	who := answer.User.(*User)
	var extra []string
	for key, values := range who.GetExtra() {
		extra = append(extra, key+"="+strings.Join(values, ","))
	}
	slices.Sort(extra)
	return strings.Join([]string{who.GetName(), who.GetUID(), strings.Join(who.GetGroups(), ","), strings.Join(extra, ";")}, "|")
}

// meets says whether it is the user, or nobody, or an error with the text.
func meets(got, want string) bool {
	if want == "nobody" || strings.Contains(want, "|") {
		return got == want
	}
	return strings.HasPrefix(got, "error: ") && strings.Contains(got, want)
}

// TestTokens has tokens of two issuers, one of which maps claims by expressions.
func TestTokens(t *testing.T) {
	plain, clever, stranger := peertest.NewIssuer(t), peertest.NewIssuer(t), peertest.NewIssuer(t)
	i, _, err := fromFile(t, configured("jwt:\n"+of(plain, `  claimValidationRules: [{claim: hd, requiredValue: example.com}]
  claimMappings:
    username: {claim: sub, prefix: "login:"}
    groups: {claim: groups, prefix: "login:"}`)+of(clever, `  claimValidationRules:
  - {expression: "claims.exp - claims.iat <= 7200", message: it lives for too long}
  claimMappings:
    username: {expression: "claims.sub + '@clever'"}
    groups: {expression: "'r:' + claims.role"}
    uid: {expression: claims.id}
    extra: [{key: example.com/team, valueExpression: claims.team}]
  userValidationRules:
  - {expression: "!user.username.startsWith('system:')", message: such names are the cluster's}`)))
	if err != nil {
		t.Fatal(err)
	}
	reached(t, i)
	type claims = map[string]any
	good := claims{"hd": "example.com"}
	roles := claims{"role": "dev", "id": "7", "team": "red"}
	with := func(base claims, name string, value any) claims {
		all := claims{name: value}
		for n, v := range base {
			if n != name {
				all[n] = v
			}
		}
		return all
	}
	cut := plain.Token(t, good)
	other := plain.Token(t, with(good, "sub", "root"))
	forged := other[:strings.LastIndex(other, ".")] + cut[strings.LastIndex(cut, "."):]
	past := time.Now().Add(-time.Hour).Unix()
	for name, test := range map[string]struct{ token, want string }{
		"right":                 {plain.Token(t, good), "login:ann|||"},
		"groups":                {plain.Token(t, with(good, "groups", []string{"a", "b"})), "login:ann||login:a,login:b|"},
		"another audience":      {plain.Token(t, with(good, "aud", []string{"x", "also"})), "login:ann|||"},
		"mapped":                {clever.Token(t, roles), "ann@clever|7|r:dev|example.com/team=red"},
		"expired":               {plain.Token(t, with(good, "exp", past)), "error: oidc: verify token: oidc: token is expired"},
		"wrong audience":        {plain.Token(t, with(good, "aud", "vault")), `error: oidc: verify token: oidc: expected audience in ["also" "kx"] got ["vault"]`},
		"wrong signature":       {forged, "error: oidc: verify token: failed to verify signature"},
		"another's signature":   {stranger.Token(t, with(good, "iss", plain.URL)), "error: oidc: verify token: failed to verify signature"},
		"unknown issuer":        {stranger.Token(t, good), "error: the token names the issuer " + stranger.URL},
		"claim without value":   {plain.Token(t, nil), `error: oidc: required claim hd not present`},
		"claim of another":      {plain.Token(t, claims{"hd": "example.org"}), `error: oidc: required claim hd value does not match`},
		"rule violated":         {clever.Token(t, with(roles, "exp", time.Now().Add(9*time.Hour).Unix())), "it lives for too long"},
		"user violated":         {clever.Token(t, with(roles, "sub", "system:root")), "such names are the cluster's"},
		"claim missing":         {clever.Token(t, with(roles, "role", nil)), "no such key: role"},
		"no token":              {"secret", "nobody"},
		"of a service account":  {stranger.Token(t, claims{"iss": ours}), "nobody"},
		"no issuer in its text": {stranger.Token(t, claims{"iss": nil}), "nobody"},
	} {
		got := shown(i, test.token)
		if !meets(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if strings.Contains(got, test.token) {
			t.Errorf("%s: the error has the token", name)
		}
	}
	answer, _, err := i.AuthenticateToken(t.Context(), plain.Token(t, good))
	if err != nil || answer.User.(*User).Issuer != plain.URL {
		t.Errorf("%+v, %v", answer, err)
	}
	_, _, err = i.AuthenticateToken(t.Context(), stranger.Token(t, nil))
	if rejections, rest := bearer.SplitRejections(err); rest != nil || len(rejections) != 1 || rejections[0].Why != issuerUnknown || rejections[0].Text != stranger.URL {
		t.Errorf("%v", err)
	}
}

// TestFlags has the issuer of the flags, with the prefixes that a kube-apiserver gives.
func TestFlags(t *testing.T) {
	one := peertest.NewIssuer(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	write(t, ca, one.CA)
	flags := func(edit func(*Flags)) *Flags {
		f := &Flags{IssuerURL: one.URL, ClientID: "kx", CAFile: ca, UsernameClaim: "sub", SigningAlgs: []string{"ES256"}}
		edit(f)
		return f
	}
	for name, test := range map[string]struct {
		edit  func(*Flags)
		more  map[string]any
		want  string
		start string // part of the error at the start
	}{
		"by the issuer":  {edit: func(*Flags) {}, want: one.URL + "#ann|||"},
		"without prefix": {edit: func(f *Flags) { f.UsernamePrefix = "-" }, want: "ann|||"},
		"with prefix":    {edit: func(f *Flags) { f.UsernamePrefix = "x:" }, want: "x:ann|||"},
		"by mail": {
			edit: func(f *Flags) { f.UsernameClaim = "email" }, more: map[string]any{"email": "a@example.com", "email_verified": true}, want: "a@example.com|||",
		},
		"groups": {
			edit: func(f *Flags) { f.UsernamePrefix, f.GroupsClaim, f.GroupsPrefix = "-", "teams", "t:" }, more: map[string]any{"teams": "red"}, want: "ann||t:red|",
		},
		"required claim": {edit: func(f *Flags) { f.RequiredClaims = map[string]string{"hd": "x"} }, want: "error: oidc: required claim hd not present"},
		"algorithm":      {edit: func(f *Flags) { f.SigningAlgs = []string{"RS256"} }, want: "signed with unsupported algorithm"},
		"no such algorithm": {
			edit: func(f *Flags) { f.SigningAlgs = []string{"HS256"} }, start: `--oidc-*: jwt[0]: oidc: unsupported signing alg: "HS256"`,
		},
		"http":         {edit: func(f *Flags) { f.IssuerURL = "http://example.com" }, start: `--oidc-*: jwt[0].issuer.url: Invalid value: "http://example.com"`},
		"no authority": {edit: func(f *Flags) { f.CAFile = ca + "x" }, start: "--oidc-ca-file: open " + ca + "x"},
	} {
		i, err := newIssuers(t, Config{Flags: flags(test.edit)})
		if test.start != "" {
			if err == nil || !strings.Contains(err.Error(), test.start) {
				t.Errorf("%s: %v, want %s", name, err, test.start)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		reached(t, i)
		if got := shown(i, one.Token(t, test.more)); !meets(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestWrongFiles: the start ends with the file and the field.
func TestWrongFiles(t *testing.T) {
	one := peertest.NewIssuer(t)
	for text, want := range map[string]string{
		"":                               "it is empty",
		"jwt: []":                        "Kind",
		configured("jwt: [{isuer: {}}]"): `unknown field "jwt[0].isuer"`,
		configured("jwt:\n- issuer: {url: \"http://x.example\", audiences: [kx]}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}"):                               "jwt[0].issuer.url: Invalid value",
		configured("jwt:\n" + of(one, "  claimMappings: {username: {expression: 'claims.'}}")):                                                                            "jwt[0].claimMappings.username.expression: Invalid value",
		configured("jwt:\n" + of(one, "  claimMappings: {username: {claim: sub, prefix: ''}}") + of(one, "  claimMappings: {username: {claim: sub, prefix: ''}}")):        "jwt[1].issuer.url: Duplicate value",
		configured("jwt:\n- issuer: {url: \"" + ours + "\", audiences: [kx]}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}"):                                   "jwt[0].issuer.url: Invalid value",
		configured("jwt:\n- issuer: {url: \"https://x.example\", audiences: [kx], egressSelectorType: cluster}\n  claimMappings: {username: {claim: sub, prefix: \"\"}}"): "jwt[0].issuer.egressSelectorType: there are no egress selectors here",
		"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: []":                                                                       "it must have an AuthenticationConfiguration",
	} {
		_, file, err := fromFile(t, text)
		if err == nil || !strings.Contains(err.Error(), "--authentication-config: "+file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := newIssuers(t, Config{File: "/nowhere/x"}); err == nil || !strings.Contains(err.Error(), "--authentication-config: open /nowhere/x") {
		t.Error(err)
	}
}

// TestIssuerAway: an issuer that does not answer holds nobody up, and its tokens are refused.
func TestIssuerAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	away, there := peertest.NewIssuer(t), peertest.NewIssuer(t)
	away.URL = "https://" + silent.Addr().String()
	i, _, err := fromFile(t, configured("jwt:\n"+of(away, "  claimMappings: {username: {claim: sub, prefix: ''}}")+of(there, "  claimMappings: {username: {claim: sub, prefix: ''}}")))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the other issuer is reached", func() bool { return shown(i, there.Token(t, nil)) == "ann|||" })
	_, _, err = i.AuthenticateToken(t.Context(), away.Token(t, nil))
	rejections, rest := bearer.SplitRejections(err)
	if rest == nil || rest.Error() != "oidc: authenticator not initialized" {
		t.Error(rest)
	}
	if len(rejections) != 1 || rejections[0].Why != issuerAway || !strings.Contains(rejections[0].Text, away.URL) {
		t.Errorf("%+v", rejections)
	}
}

// TestReload: a file counts when it is valid and its issuers are reached. Else the one before counts, and the metrics and Ready say so.
func TestReload(t *testing.T) {
	first, second, away := peertest.NewIssuer(t), peertest.NewIssuer(t), peertest.NewIssuer(t)
	away.Leave()
	text := func(i *peertest.Issuer) string {
		return configured("anonymous: {enabled: true}\njwt:\n" + of(i, "  claimMappings: {username: {claim: sub, prefix: ''}}"))
	}
	i, file, err := fromFile(t, text(first))
	if err != nil {
		t.Fatal(err)
	}
	reached(t, i)
	serves := func(want *peertest.Issuer) {
		t.Helper()
		for _, one := range []*peertest.Issuer{first, second, away} {
			if got := shown(i, one.Token(t, nil)); (got == "ann|||") != (one == want) {
				t.Errorf("%v: %s", one == want, got)
			}
		}
	}
	counted := func(success, failure float64) {
		t.Helper()
		for status, want := range map[string]float64{"success": success, "failure": failure} {
			if got := i.count(t, "apiserver_authentication_config_controller_automatic_reloads_total", status); got != want {
				t.Errorf("%v %s, want %v", got, status, want)
			}
		}
	}
	i.reload.Look(t.Context())
	serves(first)
	if err := i.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for n, broken := range []string{"jwt: {", strings.Replace(text(second), "enabled: true", "enabled: false", 1)} {
		write(t, file, broken)
		i.reload.Look(t.Context())
		i.reload.Look(t.Context())
		serves(first)
		counted(0, float64(n+1))
		if err := i.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "see the log") {
			t.Error(err)
		}
	}
	// An issuer that is away is waited for, for a minute without a word.
	write(t, file, text(away))
	i.reload.Look(t.Context())
	until(t, "the issuer that is away is asked", func() bool { return strings.Contains(fmt.Sprint(i.next.ready()), "503") })
	i.reload.Look(t.Context())
	serves(first)
	i.next.since = i.next.since.Add(-2 * reachedWithin)
	i.reload.Look(t.Context())
	if err := i.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "503 Service Unavailable") {
		t.Error(err)
	}
	serves(first)
	counted(0, 3)
	write(t, file, text(second))
	until(t, "the second issuer is taken over", func() bool {
		i.reload.Look(t.Context())
		return i.current.Load().urls.Has(second.URL)
	})
	serves(second)
	counted(1, 3)
	if err := i.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if a := i.Anonymous(); a == nil || !a.Enabled {
		t.Error(a)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	i.reload.Look(t.Context())
	serves(second)
	counted(1, 4)
	write(t, file, text(first))
	until(t, "the first issuer is back", func() bool {
		i.reload.Look(t.Context())
		return i.current.Load().urls.Has(first.URL)
	})
}

func (i *Issuers) count(t *testing.T, name, status string) float64 {
	t.Helper()
	families, err := i.config.Registry.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == status }) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

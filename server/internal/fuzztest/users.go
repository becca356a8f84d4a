package fuzztest

import (
	"encoding/base64"
	"net/http"
)

// anonymous is who sends no credentials.
var anonymous = Identity{"system:anonymous", []string{"system:unauthenticated"}}

func user(name string, make func(*Generator)) production[struct{}] {
	return production[struct{}]{name, func(g *Generator) struct{} { make(g); return struct{}{} }}
}

// users are who sends a request. Those with rights are drawn more often: most requests of others end early.
func users() []production[struct{}] {
	known := func(g *Generator) {
		u := pick(g, g.surface.Users[1:]...)
		g.bearer(u.Token, u.Identity)
	}
	return []production[struct{}]{
		user("administrator", (*Generator).admin),
		user("administrator too", (*Generator).admin),
		user("administrator again", (*Generator).admin),
		user("administrator once more", (*Generator).admin),
		user("one that is known", known),
		user("another that is known", known),
		user("editor", func(g *Generator) { g.bearer(g.surface.Users[1].Token, g.surface.Users[1].Identity) }),
		user("by other credentials", func(g *Generator) { choose(g, "credentials", credentials) }),
	}
}

// credentials are ways to say who one is, most of them wrong.
func credentials() []production[struct{}] {
	bearer := func(token string) func(*Generator) {
		return func(g *Generator) { g.bearer(token, Identity{}) }
	}
	return []production[struct{}]{
		user("anonymous", func(g *Generator) { g.request.By, g.request.As = anonymous, anonymous }),
		user("requested token", func(g *Generator) {
			if g.token == "" {
				g.admin()
				return
			}
			g.bearer(g.token, subject(g.token))
		}),
		user("damaged token", func(g *Generator) { g.bearer("x"+g.token, Identity{}) }),
		user("unsigned token", bearer(unsigned(`{"alg":"none"}`))),
		user("forged token", bearer(unsigned(`{"alg":"RS256","kid":"x"}`)+"AAAA")),
		user("no token", func(g *Generator) { g.bearer("", anonymous) }),
		user("password", func(g *Generator) {
			g.request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("admin:admin")))
			g.request.By, g.request.As = anonymous, anonymous
		}),
		user("two credentials", func(g *Generator) {
			u := pick(g, g.surface.Users[1:]...)
			g.bearer(u.Token, u.Identity)
			g.request.Header.Add("Authorization", "Bearer "+g.surface.Users[1].Token)
		}),
		user("front proxy", func(g *Generator) {
			g.request.Header = http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}
			g.request.By, g.request.As = anonymous, anonymous
		}),
		user("administrator as another", func(g *Generator) { g.admin(); g.impersonate() }),
		user("other as another", func(g *Generator) {
			u := pick(g, g.surface.Users[1:]...)
			g.bearer(u.Token, u.Identity)
			g.impersonate()
		}),
	}
}

func unsigned(header string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(header)) + "." + part([]byte(
		`{"iss":"https://kubernetes.default.svc","aud":["https://kubernetes.default.svc"],`+
			`"sub":"system:serviceaccount:kube-system:default","exp":9999999999}`)) + "."
}

func (g *Generator) admin() {
	g.request.Admin = true
	g.request.By = g.surface.Users[0].Identity
	g.request.As = g.request.By
}

func (g *Generator) bearer(token string, who Identity) {
	g.request.Header.Set("Authorization", "Bearer "+token)
	g.request.By, g.request.As = who, who
}

// impersonate adds headers by which the sender acts as someone else.
func (g *Generator) impersonate() {
	u := pick(g, g.surface.Users...)
	who := Identity{Name: u.Identity.Name}
	h := g.request.Header
	h.Set("Impersonate-User", who.Name)
	switch g.number(6) {
	case 1:
		who.Groups = append(who.Groups, "a-group")
		h.Add("Impersonate-Group", "a-group")
	case 2:
		who.Groups = append(who.Groups, "system:masters")
		h.Add("Impersonate-Group", "system:masters")
	case 3:
		h.Set("Impersonate-Uid", "x")
	case 4:
		h.Add("Impersonate-Extra-Scopes%2f%ff", "x")
	case 5:
		who = Identity{}
		h.Del("Impersonate-User")
		h.Add("Impersonate-Group", "system:masters")
	}
	if account := ServiceAccount(who.Name); account.Name != "" && len(who.Groups) == 0 {
		who = account
	}
	who.Groups = append(who.Groups, "system:authenticated")
	g.request.As = who
}

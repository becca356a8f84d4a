package tui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// alsoCalled holds other names of commands: words by which people look for them, and that neither title nor help has.
var alsoCalled = map[keys.ID]string{
	"filter.edit":         "search, query, where, failed, errors, slow",
	"filter.named":        "saved search, bookmark, preset",
	"steps.story":         "explain, tell, narrate",
	"detail.step":         "reason, explain, webhook, admission, authorization, forbidden",
	"detail.diff":         "who set a field, who changed, blame, managedFields, webhook",
	"detail.request":      "who asked, user, headers, forbidden, RBAC, audit",
	"detail.timing":       "slow, latency, duration, profile",
	"detail.watchers":     "informer, controller, delivered",
	"detail.source":       "upstream, GitHub, function",
	"request.replay":      "again, repeat, resend, retry",
	"request.replay-held": "again, debug, step through",
	"capture.save":        "export, share, HTML, SVG, report",
	"copy.command":        "kubectl, curl, reproduce, export",
	"step.break":          "stop, pause, debugger, breakpoint",
	"what-if.steal":       "conflict, 409, resourceVersion, optimistic lock",
	"what-if.fail":        "fault, inject, error, timeout, webhook, chaos, retry",
	"what-if.compact":     "410, gone, expired",
	"what-if.stale-cache": "lag, behind, stale read",
	"etcd.compact":        "410, gone, expired",
	"breakpoints.open":    "fault, webhook, debugger",
	"did.open":            "command log, history, script, kubectl, audit",
	"server.which":        "context, kubeconfig, cluster, connect, address",
	"theme.next":          "skin, palette, dark, light, high contrast",
	"record":              "diff, before and after, body",
	"screen.send":         "create, apply, patch, request",
	"screen.etcd":         "keys, registry, revision",
	"screen.cache":        "watch cache, informer, bookmark",
	"screen.structure":    "API resources, CRD, handlers, webhook",
}

// statuses names the answers by which people look for requests.
var statuses = map[int]string{
	400: "bad request",
	401: "unauthorized",
	403: "forbidden",
	404: "not found",
	409: "conflict",
	410: "gone",
	422: "invalid",
	429: "too many requests",
	500: "internal error",
	503: "unavailable",
	504: "timeout",
}

// words are what somebody looks for: all of them, in any order.
type words []string

func typedWords(typed string) words { return strings.Fields(strings.ToLower(typed)) }

func (w words) matchIn(text string) bool {
	for _, one := range w {
		if !strings.Contains(text, one) {
			return false
		}
	}
	return true
}

// namesOf returns what a command is called, in lower case.
func (m *model) namesOf(c *keys.Command) string {
	also := alsoCalled[c.ID]
	return strings.ToLower(strings.Join([]string{string(c.ID), c.Title, m.theme.Words.Text(c.Title), keys.FormatKeys(c.Keys...),
		also, m.theme.Words.Text(also)}, " "))
}

// helpOn returns a command's help, in lower case.
func (m *model) helpOn(c *keys.Command) string {
	return strings.ToLower(c.Help + " " + m.theme.Words.Text(c.Help))
}

// filterForCode returns a command that shows the requests that got the answer which is typed into the palette, by its
// code or its name; nil if none is.
func (m *model) filterForCode() *keys.Command {
	typed := strings.ToLower(strings.TrimSpace(m.typing.String()))
	code, err := strconv.Atoi(typed)
	if err != nil || code < 100 || code > 599 {
		code = 0
		for n, name := range statuses {
			if begun := utf8.RuneCountInString(typed) >= 4 && strings.HasPrefix(name, typed); begun || typed == m.theme.Words.Text(name) {
				code = n
			}
		}
	}
	if code == 0 {
		return nil
	}
	return &keys.Command{ID: "filter.code", Meaning: keys.Meaning{Title: m.theme.Words.Phrase("show what was answered %d", code)},
		Do: keys.Bind(m.lead, screen.Target(screen.ToRequests{Filter: fmt.Sprintf("code:%d", code)}))}
}

// findInHelp opens the line that narrows help.
func (m *model) findInHelp() {
	m.overlay = keys.InHelp
	m.seek("")
}

// leaveFound closes that line.
func (m *model) leaveFound() { m.overlay = keys.Help }

// sayServer says which server this is.
func (m *model) sayServer() {
	at := draw.Clean(m.client.Host())
	switch {
	case m.options.Saved != nil:
		m.say(m.theme.Words.Phrase("this is the capture %s: there is no server", m.options.Saved.File))
	case at == "":
		m.say(m.theme.Words.Phrase("the server is starting"))
	case m.server.Kubeconfig == "":
		m.say(m.theme.Words.Phrase("%s; kx tui --kubeconfig FILE --context NAME follows another", at))
	default:
		m.say(m.theme.Words.Phrase("%s of %s; kx tui --kubeconfig FILE --context NAME follows another", at, m.server.Kubeconfig))
	}
}

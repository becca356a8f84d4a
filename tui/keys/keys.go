package keys

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Context is where a key is pressed: a pane, or a line that is typed into. There are as many as the screens make.
type Context struct {
	Name string
	// Typing says that letters pressed there are text.
	Typing bool
}

// Place is the context of a pane.
func Place(name string) Context { return Context{Name: name} }

// Line is the context of a line that is typed into.
func Line(name string) Context { return Context{Name: name, Typing: true} }

// None is no context.
var None Context

// String is the context's name.
func (c Context) String() string { return c.Name }

// The contexts of the screen Capture.
var (
	List   = Place("list")
	Steps  = Place("steps")
	Detail = Place("detail")
	Filter = Line("filter")
)

// Panes are those of Capture.
var Panes = []Context{List, Steps, Detail}

// The contexts of the program around the screens.
var (
	Palette = Line("palette")
	Help    = Place("help")
	Ask     = Line("question")
	Menu    = Line("menu")
	Confirm = Place("yes or no")
)

// ID names a command, for the palette and for whoever gives it other keys.
type ID string

// Command is something that the user can do.
type Command struct {
	ID       ID
	Title    string // a few words, in the imperative
	Help     string // one sentence
	Contexts []Context
	Keys     []string
	// Hint is the word that the line of hints has for it; empty for commands that are not hinted.
	Hint string
	// Now is the word while the command is what one wants next: it is hinted before others then. Empty when it is not; nil is
	// never.
	Now func() string
	// Motion says that it only moves: it may be repeated by a paste without harm.
	Motion bool
	// Enabled says why the command can't be done now, or nothing. Nil is always.
	Enabled func() string
}

// Disabled is why the command can't be done now; empty if it can.
func (c *Command) Disabled() string {
	if c.Enabled == nil {
		return ""
	}
	return c.Enabled()
}

// Wanted is the command's hint while it is what one wants next; empty when it is not.
func (c *Command) Wanted() string {
	if c.Now == nil {
		return ""
	}
	return c.Now()
}

// In says whether the command has its keys in a context.
func (c *Command) In(ctx Context) bool {
	for _, other := range c.Contexts {
		if other == ctx {
			return true
		}
	}
	return false
}

// Key is the command's keys as they are shown.
func (c *Command) Key() string {
	shown := make([]string, len(c.Keys))
	for i, k := range c.Keys {
		shown[i] = Shown(k)
	}
	return strings.Join(shown, " ")
}

// Shown is how a key is written on the screen.
func Shown(key string) string {
	if key == " " {
		return "space"
	}
	return key
}

// Table is all commands, in the order in which help lists them.
type Table struct {
	commands []*Command
	byKey    map[Context]map[string]*Command
	byID     map[ID]*Command
}

// New makes a table. It refuses a key that means two things in one context, and a command twice.
func New(commands []Command) (*Table, error) {
	t := &Table{byKey: map[Context]map[string]*Command{}, byID: map[ID]*Command{}}
	for i := range commands {
		c := &commands[i]
		if t.byID[c.ID] != nil {
			return nil, fmt.Errorf("command %s is in the table twice", c.ID)
		}
		t.byID[c.ID] = c
		t.commands = append(t.commands, c)
		for _, ctx := range c.Contexts {
			if t.byKey[ctx] == nil {
				t.byKey[ctx] = map[string]*Command{}
			}
			for _, key := range c.Keys {
				if ctx.Typing && printable(key) {
					continue
				}
				if other := t.byKey[ctx][key]; other != nil {
					return nil, fmt.Errorf("in %s, %q is both %s and %s", ctx, key, other.ID, c.ID)
				}
				t.byKey[ctx][key] = c
			}
		}
	}
	return t, nil
}

// printable says that a key is a character.
func printable(key string) bool { return utf8.RuneCountInString(key) == 1 }

// Resolve finds what a key means in a context, or nil.
func (t *Table) Resolve(ctx Context, key string) *Command { return t.byKey[ctx][key] }

// Lookup finds a command, or nil.
func (t *Table) Lookup(id ID) *Command { return t.byID[id] }

// Commands are all commands, in order.
func (t *Table) Commands() []*Command { return t.commands }

// In are the commands of a context, in order.
func (t *Table) In(ctx Context) []*Command {
	var in []*Command
	for _, c := range t.commands {
		if c.In(ctx) {
			in = append(in, c)
		}
	}
	return in
}

package filter

import (
	"strconv"
	"strings"
)

// arrow stands between steps that follow each other.
const arrow = "->"

// takeForm consumes a name and the parenthesis right behind it.
func (p *parser) takeForm(name string) bool {
	rest := p.s[p.at:]
	if len(rest) <= len(name) || rest[len(name)] != '(' || !strings.EqualFold(rest[:len(name)], name) {
		return false
	}
	p.at += len(name) + 1
	p.space()
	return true
}

// step reads the conditions of step(...), which begins at start. The parser is behind the parenthesis.
func (p *parser) step(start, depth int) (node, error) {
	condition, err := p.condition(start, depth)
	if err != nil {
		return nil, err
	}
	return stepNode{condition}, nil
}

func (p *parser) condition(start, depth int) (node, error) {
	if p.ofStep {
		return nil, p.errorf(start, "the conditions of one step", "%q within the conditions of a step", strings.TrimSpace(p.s[start:p.at]))
	}
	p.ofStep = true
	condition, err := p.or(depth + 1)
	p.ofStep = false
	if err != nil {
		return nil, err
	}
	return condition, p.closeParenthesis(start)
}

// count reads the conditions and the comparison of steps(...), which begins at start.
func (p *parser) count(start, depth int) (node, error) {
	if p.running {
		return nil, p.errorf(start, stillRunning, "%q counts to the request's end", "steps(")
	}
	condition, err := p.condition(start, depth)
	if err != nil {
		return nil, err
	}
	for _, o := range operators {
		if o.op == matches || !p.next(o.text) {
			continue
		}
		p.at += len(o.text)
		p.space()
		field, _ := lookup("steps", false)
		count, err := p.numbers(field, o.op)
		if err != nil {
			return nil, err
		}
		var n node = countNode{condition, count.(numberNode)}
		if o.not {
			n = notNode{n}
		}
		return n, nil
	}
	return nil, p.errorf(p.at, "a comparison, such as >1", "steps(...) is a number")
}

// chain reads steps that follow each other, from the first one at start on.
func (p *parser) chain(start, depth int) (node, error) {
	switch {
	case p.ofStep:
		return nil, p.errorf(p.at, "the conditions of one step", "%q within the conditions of a step", arrow)
	case p.running:
		return nil, p.errorf(p.at, stillRunning, "%q looks at steps to the request's end", arrow)
	}
	p.at = start
	var n chainNode
	for {
		condition, err := p.link(depth)
		if err != nil {
			return nil, err
		}
		n.conditions = append(n.conditions, condition)
		if !p.next(arrow) {
			return n, nil
		}
		p.at += len(arrow)
		p.space()
	}
}

// link reads the conditions of one step of a chain.
func (p *parser) link(depth int) (node, error) {
	start := p.at
	if p.next("(") || p.next("!") {
		return nil, p.errorf(start, "a step, such as etcd.txn, why:retry or step(!etcd.txn)", "%q beside %q", p.s[start:start+1], arrow)
	}
	if p.takeForm("step") {
		return p.condition(start, depth)
	}
	p.ofStep, p.named = true, false
	defer func() { p.ofStep = false }()
	if p.takeForm("steps") {
		return p.condition(start, depth) // an error
	}
	return p.term()
}

// stepText reads the ID of a step, or a text in quotes that is found anywhere in it.
func (p *parser) stepText() (node, error) {
	start := p.at
	if p.next(`"`) {
		word, _, err := p.word("")
		if err != nil {
			return nil, err
		}
		return anywhereNode{newPattern(word, true, strconv.Quote), true}, p.endOfTerm()
	}
	field, _ := lookup("step", true)
	n, err := p.fieldValues(field, p.at, "", has)
	if err != nil {
		return nil, err
	}
	id := n.(*textNode)
	word := p.s[start:min(start+len(id.patterns[0].canonical), len(p.s))]
	if instead, ok := operatorWords[strings.ToLower(word)]; ok {
		return nil, p.errorf(start, instead+", or the word in quotes", "%q is not an operator", word)
	}
	if p.named {
		return nil, p.errorf(start, "a field, such as why:"+word+", or the text in quotes", "a step's ID stands before its fields")
	}
	return id, nil
}

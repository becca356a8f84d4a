package trace_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// state is what is known of a step at a statement. gone is that the statement is not passed: it returned.
type state int

const (
	before state = iota
	running
	ended
	gone
)

type follower struct {
	source
	start      *ast.AssignStmt
	step       string
	complaints []string
}

func (f *follower) block(list []ast.Stmt, st state) state {
	for _, stmt := range list {
		st = f.stmt(stmt, st)
	}
	return st
}

func (f *follower) stmt(stmt ast.Stmt, st state) state {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		if s == f.start {
			return running
		}
	case *ast.ExprStmt:
		if f.ends(s.X) {
			return ended
		}
		if call, ok := s.X.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "panic" {
			return gone
		}
	case *ast.DeferStmt:
		if f.ends(s.Call) {
			return ended
		}
	case *ast.ReturnStmt:
		if st == running && !f.hands(s) {
			f.complaints = append(f.complaints, f.complain(s.Pos(), "the step of line %d is not ended at this return", f.fset.Position(f.start.Pos()).Line))
		}
		return gone
	case *ast.BlockStmt:
		return f.block(s.List, st)
	case *ast.LabeledStmt:
		return f.stmt(s.Stmt, st)
	case *ast.IfStmt:
		other := st
		if s.Else != nil {
			other = f.stmt(s.Else, st)
		}
		return join(f.block(s.Body.List, st), other)
	case *ast.ForStmt:
		return join(f.block(s.Body.List, st), st)
	case *ast.RangeStmt:
		return join(f.block(s.Body.List, st), st)
	case *ast.SwitchStmt:
		return f.clauses(s.Body, st)
	case *ast.TypeSwitchStmt:
		return f.clauses(s.Body, st)
	case *ast.SelectStmt:
		return f.clauses(s.Body, st)
	}
	return st
}

// clauses are those of a switch, of which none may apply, or of a select, of which one does.
func (f *follower) clauses(body *ast.BlockStmt, st state) state {
	out, exhaustive := gone, false
	for _, c := range body.List {
		switch c := c.(type) {
		case *ast.CaseClause:
			exhaustive = exhaustive || c.List == nil
			out = join(out, f.block(c.Body, st))
		case *ast.CommClause:
			exhaustive = true
			out = join(out, f.block(c.Body, st))
		}
	}
	if exhaustive {
		return out
	}
	return join(out, st)
}

// join is what is known where two ways meet: the worse.
func join(a, b state) state {
	switch {
	case a == gone:
		return b
	case b == gone:
		return a
	case a == running || b == running:
		return running
	}
	return max(a, b)
}

// hands says whether the step is returned: it is the caller's to end.
func (f *follower) hands(s *ast.ReturnStmt) bool {
	return slices.ContainsFunc(s.Results, func(e ast.Expr) bool { return types.ExprString(e) == f.step })
}

// ends says whether the expression ends the step, maybe in a function that is called there, or hands it to one that does.
func (f *follower) ends(e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			fun := types.ExprString(call.Fun)
			toEnd := slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return types.ExprString(arg) == f.step })
			yes = yes || fun == f.step+".End" || toEnd && strings.HasPrefix(fun, "end")
		}
		return !yes
	})
	return yes
}

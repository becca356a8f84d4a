package source

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// Branches tells which lines of a function decided, and which did not run, once it is known that a line ran.
type Branches struct {
	// Decides lists the lines of the conditions around the line, from the outermost on.
	Decides []int
	// not lists the lines that did not run, as pairs of a first and a last line.
	not [][2]int
}

// Ran reports whether a line may have run.
func (b *Branches) Ran(line int) bool {
	for _, lines := range b.not {
		if line >= lines[0] && line <= lines[1] {
			return false
		}
	}
	return true
}

// ReadBranches reads Go code around a line that ran. What does not parse has no branches. Inside of a loop the result
// is true for the round in which the line ran.
func ReadBranches(text string, line int) Branches {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if file == nil {
		return Branches{}
	}
	r := branches{at: func(p token.Pos) int { return set.Position(p).Line }, line: line}
	r.nodes(file)
	return r.Branches
}

// branches walks from a file to the statement at the line.
type branches struct {
	Branches
	at   func(token.Pos) int
	line int
	// after lists the last lines of the blocks around, up to the function.
	after []int
}

// around reports whether the line is in n.
func (r *branches) around(n ast.Node) bool { return r.at(n.Pos()) <= r.line && r.line <= r.at(n.End()) }

// nodes goes down to the innermost node around the line.
func (r *branches) nodes(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		r.Branches, r.after = Branches{}, nil // the function around a literal may have gone on
	case *ast.BlockStmt:
		r.list(n.List, r.at(n.Rbrace)-1)
	case *ast.CaseClause:
		r.list(n.Body, r.at(n.End()))
	case *ast.CommClause:
		r.list(n.Body, r.at(n.End()))
	case *ast.IfStmt:
		r.either(n)
	case *ast.SwitchStmt:
		r.clauses(n.Body)
	case *ast.TypeSwitchStmt:
		r.clauses(n.Body)
	case *ast.SelectStmt:
		r.clauses(n.Body)
	}
	var inner ast.Node
	ast.Inspect(n, func(child ast.Node) bool {
		if child == n || child == nil {
			return true
		}
		if inner == nil && r.around(child) && r.holds(child) {
			inner = child
		}
		return false
	})
	if inner != nil {
		r.nodes(inner)
	}
}

// holds reports whether the line is in a node with statements, such as a block; other lines of a condition or a call
// belong to the statement around.
func (r *branches) holds(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident, *ast.BasicLit, *ast.CommentGroup, *ast.Comment:
		return false
	case *ast.IfStmt:
		return r.at(n.Pos()) < r.line
	}
	return true
}

// list looks at the statements of a block before and after the one at the line.
func (r *branches) list(statements []ast.Stmt, last int) {
	r.after = append(r.after, last)
	for _, s := range statements {
		switch {
		case r.at(s.End()) < r.line:
			if s, ok := s.(*ast.IfStmt); ok {
				r.passed(s)
			}
		case r.around(s):
			if _, leaves := s.(*ast.ReturnStmt); leaves {
				r.leave(r.at(s.End()))
			}
		}
	}
}

// passed adds the bodies of an if that would have left the block.
func (r *branches) passed(s *ast.IfStmt) {
	for leaves(s.Body) {
		r.skip(r.at(s.Body.Lbrace)+1, r.at(s.Body.Rbrace)-1)
		other, ok := s.Else.(*ast.IfStmt)
		if !ok {
			return
		}
		s = other
	}
}

// leaves reports whether a block ends with a statement that leaves the block around it.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch last := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Tok != token.FALLTHROUGH
	}
	return false
}

// leave adds the lines behind a return, up to the end of the function.
func (r *branches) leave(line int) {
	for i := len(r.after) - 1; i >= 0; i-- {
		r.skip(line+1, r.after[i])
		line = max(line, r.after[i]+1)
	}
}

func (r *branches) either(s *ast.IfStmt) {
	if r.line == r.at(s.Pos()) {
		return
	}
	r.Decides = append(r.Decides, r.at(s.Pos()))
	switch {
	case s.Else == nil:
	case r.around(s.Body) && r.line < r.at(s.Body.Rbrace):
		r.skip(r.at(s.Else.Pos())+1, r.at(s.Else.End())-1)
	default:
		r.skip(r.at(s.Body.Lbrace)+1, r.at(s.Body.Rbrace)-1)
	}
}

func (r *branches) clauses(body *ast.BlockStmt) {
	for _, clause := range body.List {
		first, last := r.at(clause.Pos()), r.at(clause.End())
		switch {
		case !r.around(clause):
			r.skip(first, last)
		case first < r.line:
			r.Decides = append(r.Decides, first)
		}
	}
}

func (r *branches) skip(first, last int) {
	if first <= last {
		r.not = append(r.not, [2]int{first, last})
	}
}

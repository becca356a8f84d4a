package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
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
// is true for the round in which the line ran. A goto backward is a loop.
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
	// rest lists the lines of the blocks around behind the statement at the line, up to the function.
	rest [][2]int
}

// around reports whether the line is in n.
func (r *branches) around(n ast.Node) bool { return r.at(n.Pos()) <= r.line && r.line <= r.at(n.End()) }

// nodes goes down to the innermost node around the line.
func (r *branches) nodes(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		r.Branches, r.rest = Branches{}, nil // the function around a literal may have gone on
	case *ast.BlockStmt:
		r.list(n.List, r.at(n.Rbrace)-1)
	case *ast.CaseClause:
		r.list(n.Body, r.at(n.End()))
	case *ast.CommClause:
		r.list(n.Body, r.at(n.End()))
	case *ast.IfStmt:
		r.either(n)
	case *ast.SwitchStmt:
		r.cases(n.Body)
	case *ast.TypeSwitchStmt:
		r.cases(n.Body)
	case *ast.SelectStmt:
		r.receivers(n.Body)
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
	case *ast.FuncLit:
		return r.at(n.Pos()) < r.line && r.line < r.at(n.End())
	}
	return true
}

// list looks at the statements of a block before and after the one at the line.
func (r *branches) list(statements []ast.Stmt, last int) {
	labels := map[string]bool{} // between the statement and the line
	for _, s := range slices.Backward(statements) {
		switch {
		case r.at(s.End()) < r.line:
			r.passed(s, labels)
		case r.around(s):
			r.rest = append(r.rest, [2]int{r.at(s.End()) + 1, last})
			if _, leaves := s.(*ast.ReturnStmt); leaves {
				r.skip(r.rest...)
			}
		default:
			continue
		}
		for l, ok := s.(*ast.LabeledStmt); ok; l, ok = l.Stmt.(*ast.LabeledStmt) {
			labels[l.Label.Name] = true
		}
	}
}

// passed adds those bodies of an if that would have left the block, and not to a label before the line.
func (r *branches) passed(s ast.Stmt, labels map[string]bool) {
	for {
		switch n := s.(type) {
		case *ast.LabeledStmt:
			s = n.Stmt
		case *ast.IfStmt:
			r.passed(n.Body, labels)
			s = n.Else
		case *ast.BlockStmt:
			if leaves(n) && !jumps(n, labels) {
				r.skip([2]int{r.at(n.Lbrace) + 1, r.at(n.Rbrace) - 1})
			}
			return
		default:
			return
		}
	}
}

// leaves reports whether a block ends with a statement that leaves the block around it.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// jumps reports whether a block has a goto to one of the labels.
func jumps(b *ast.BlockStmt, labels map[string]bool) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		if n, ok := n.(*ast.BranchStmt); ok && n.Tok == token.GOTO {
			found = found || labels[n.Label.Name]
		}
		return true
	})
	return found
}

func (r *branches) either(s *ast.IfStmt) {
	if r.line <= r.at(s.Body.Lbrace) { // its condition
		return
	}
	r.Decides = append(r.Decides, r.at(s.Pos()))
	switch {
	case s.Else == nil:
	case r.line < r.at(s.Body.Rbrace):
		r.skip([2]int{r.at(s.Else.Pos()) + 1, r.at(s.Else.End()) - 1})
	default:
		r.skip([2]int{r.at(s.Body.Lbrace) + 1, r.at(s.Body.Rbrace) - 1})
	}
}

// cases looks at the clauses of a switch. Their conditions run from the first one on until one holds; if none does,
// default runs.
func (r *branches) cases(body *ast.BlockStmt) {
	ran := slices.IndexFunc(body.List, func(s ast.Stmt) bool { return r.around(s) })
	if ran < 0 || r.line <= r.at(body.Lbrace) {
		return
	}
	clause := func(i int) *ast.CaseClause { return body.List[i].(*ast.CaseClause) }
	within := clause(ran)
	condition := within.List != nil && r.line <= r.at(within.Colon)
	first, last := ran, ran // the clauses that may have run one into the other
	for ; first > 0 && !condition && falls(clause(first-1)); first-- {
	}
	for ; last < len(body.List)-1 && falls(clause(last)); last++ {
	}
	if first == ran && r.at(within.Colon) < r.line {
		r.Decides = append(r.Decides, r.at(within.Pos()))
	}
	for i := range body.List {
		c := clause(i)
		lines := [2]int{r.at(c.Pos()), r.at(c.End())}
		if c.List != nil && (i < ran || within.List == nil) {
			lines[0] = r.at(c.Colon) + 1 // its condition ran
		}
		if later := condition && (i > ran || c.List == nil); !later && (i < first || i > last) {
			r.skip(lines)
		}
	}
}

// falls reports whether a clause ends with a fallthrough.
func falls(c *ast.CaseClause) bool {
	if len(c.Body) == 0 {
		return false
	}
	last, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
	return ok && last.Tok == token.FALLTHROUGH
}

// receivers looks at the clauses of a select.
func (r *branches) receivers(body *ast.BlockStmt) {
	ran := slices.IndexFunc(body.List, func(s ast.Stmt) bool {
		return r.around(s) && r.at(s.(*ast.CommClause).Colon) < r.line
	})
	for i, clause := range body.List {
		switch first := r.at(clause.Pos()); {
		case ran < 0:
		case i == ran:
			r.Decides = append(r.Decides, first)
		default:
			r.skip([2]int{first, r.at(clause.End())})
		}
	}
}

func (r *branches) skip(all ...[2]int) {
	for _, lines := range all {
		if lines[0] <= lines[1] {
			r.not = append(r.not, lines)
		}
	}
}

// Package class has what a teacher needs around the lessons: a look at the machines before they begin ([Machine]), a
// lesson on paper ([Handout]), and what each learner has done ([Report]), in one table ([Table]).
//
// What comes in are lessons that can be played, the learner's progress, and files that learners hand in. What goes out
// is text. Nothing is sent anywhere: a learner gives their report to whom they like.
//
// # Invariants
//
//  1. A handout has no solution, and says of no answer that it is the right one. Its page loads nothing and runs
//     nothing.
//  2. A report is what the learner's file says, in words. Nobody has signed it.
//  3. What learners hand in may be anything: it is bounded, and acts on no terminal.
package class

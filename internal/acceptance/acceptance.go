// Package acceptance holds the tests of the program as a whole, from outside:
// the built binary runs, a server writes down what it saw, and the result files
// must agree with it; servers that nobody here wrote count the same requests;
// notebooks read the same numbers that the console prints.
package acceptance

package exam

// aime25 asks the bare problem of a year later.
var aime25 = benchmark{
	Info{Name: "aime25", Dataset: "yentinglin/aime_2025", Grader: "lighteval_expr"},
	bareAIME,
}

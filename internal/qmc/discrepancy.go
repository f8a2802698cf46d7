package qmc

import "math"

// Discrepancy is the centered L2 discrepancy of points in the unit cube
// (Hickernell 1998), with z = x − ½:
//
//	(13/12)^d − 2/n Σᵢ Πₖ (1 + ½|zᵢₖ| − ½zᵢₖ²)
//	          + 1/n² Σᵢⱼ Πₖ (1 + ½|zᵢₖ| + ½|zⱼₖ| − ½|zᵢₖ − zⱼₖ|)
//
// The order of the operations here and below is fixed, and no product is fused
// with a sum: whether a swap that changes nothing counts as better depends on
// the last bit.
func Discrepancy(points [][]float64) float64 {
	n := float64(len(points))
	var single, double float64
	for _, x := range points {
		product := 1.0
		for _, v := range x {
			z := math.Abs(v - 0.5)
			product *= 1 + float64(0.5*z) - float64(0.5*float64(z*z))
		}
		single += product
	}
	for _, x := range points {
		for _, y := range points {
			product := 1.0
			for k := range x {
				product *= 1 + float64(0.5*math.Abs(x[k]-0.5)) +
					float64(0.5*math.Abs(y[k]-0.5)) - float64(0.5*math.Abs(x[k]-y[k]))
			}
			double += product
		}
	}
	d := float64(len(points[0]))
	return math.Pow(13.0/12, d) - float64(2/n*single) + float64(1/(n*n)*double)
}

// swapped is the discrepancy after points a and b exchange coordinate k, from
// the one before (Jin, Chen and Sudjianto 2005, equations 19 to 26).
func swapped(points [][]float64, a, b, k int, before float64) float64 {
	n := float64(len(points))
	za, zb := centred(points[a][k]), centred(points[b][k])
	alpha := (1 + math.Abs(zb)) / (1 + math.Abs(za))
	beta := (2 - math.Abs(zb)) / (2 - math.Abs(za))
	gA, hA := ownProducts(points[a])
	gB, hB := ownProducts(points[b])

	ownA := float64(1/(n*n)*gA) - float64(2/n*hA)
	ownB := float64(1/(n*n)*gB) - float64(2/n*hB)
	newA := float64(gA*alpha)/(n*n) - float64(2*alpha*beta*hA)/n
	newB := gB/float64(float64(n*n)*alpha) - float64(2*hB)/float64(float64(n*alpha)*beta)

	others := 0.0
	for j, x := range points {
		if j == a || j == b {
			continue
		}
		z := centred(x[k])
		gamma := (2 + math.Abs(zb) + math.Abs(z) - math.Abs(zb-z)) / (2 + math.Abs(za) + math.Abs(z) - math.Abs(za-z))
		withA, withB := float64(1/(n*n)*pairProduct(points[a], x)), float64(1/(n*n)*pairProduct(points[b], x))
		others += float64(gamma*withA) - withA + withB/gamma - withB
	}
	return before + newA - ownA + newB - ownB + float64(2*others)
}

func centred(x float64) float64 { return x - 0.5 }

// ownProducts are Πₖ (1 + |zₖ|) and Πₖ (1 + ½|zₖ| − ½zₖ²).
func ownProducts(x []float64) (g, h float64) {
	g, h = 1, 1
	for _, v := range x {
		z := centred(v)
		g *= 1 + math.Abs(z)
		h *= 1 + float64(0.5*math.Abs(z)) - float64(0.5*float64(z*z))
	}
	return g, h
}

// pairProduct is Πₖ ½(2 + |zᵢₖ| + |zⱼₖ| − |zᵢₖ − zⱼₖ|).
func pairProduct(x, y []float64) float64 {
	product := 1.0
	for k := range x {
		a, b := centred(x[k]), centred(y[k])
		product *= 0.5 * (2 + math.Abs(a) + math.Abs(b) - math.Abs(a-b))
	}
	return product
}

/* Rules of the plane: d(x) >= 0, zero where a sample should lie. Their names; formulas.h has the formulas,
 * which every device runs. A rule is a line here and a function there. */
#ifndef JF_COMPUTE_RULE_RULE_H
#define JF_COMPUTE_RULE_RULE_H

#define RULE_LIST(X)                                                                                         \
    X(circle, "|x.x - r^2|")                                                                                 \
    X(diamond, "||x0|+|x1| - r|")                                                                            \
    X(line, "|x0+x1|")                                                                                       \
    X(cross, "|x0*x1|")                                                                                      \
    X(parabola, "|x1 - x0^2|")

typedef enum rule_id {
#define X(name, formula) rule_##name,
    RULE_LIST(X)
#undef X
        rule_count
} rule_id;

/* What a rule asks of a sample: E(x) = lambda d(x) + confine x.x/2, r being the size. */
typedef struct rule_energy {
    rule_id rule;
    double size, lambda, confine;
} rule_energy;

#endif

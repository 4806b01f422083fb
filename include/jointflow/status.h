/* The status codes of every function that can fail: one list gives the codes, their names and their texts. */
#ifndef JOINTFLOW_STATUS_H
#define JOINTFLOW_STATUS_H

#define JF_STATUS_LIST(X)                                                                                    \
    X(JF_OK, 0, "success")                                                                                   \
    X(JF_ERROR_ARGUMENT, -1, "an argument is out of its range")                                              \
    X(JF_ERROR_MEMORY, -2, "not enough memory")                                                              \
    X(JF_ERROR_IO, -3, "a file could not be read or written")                                                \
    X(JF_ERROR_FORMAT, -4, "a file does not hold what its format demands")                                   \
    X(JF_ERROR_RECIPE, -5, "a recipe has an unknown key or a wrong value")                                   \
    X(JF_ERROR_DATA, -6, "the data cannot be used as they are")                                              \
    X(JF_ERROR_SHAPE, -7, "sizes do not fit together")                                                       \
    X(JF_ERROR_DEVICE, -8, "the device is unknown, missing or has failed")                                   \
    X(JF_ERROR_NUMERIC, -9, "a value that should be finite is not")                                          \
    X(JF_ERROR_UNSUPPORTED, -10, "this model cannot answer that")                                            \
    X(JF_ERROR_RANK, -11, "a process of several that work together is missing, lost or different")           \
    X(JF_STOPPED, 1, "stopped on request; everything so far is saved")

typedef enum jf_status {
#define X(name, value, text) name = value,
    JF_STATUS_LIST(X)
#undef X
} jf_status;

#endif

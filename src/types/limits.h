/* Limits that several folders share. */
#ifndef JF_TYPES_LIMITS_H
#define JF_TYPES_LIMITS_H

#define MAX_CLASSES    64 /* values that a discrete y can have, in data sets, models and judgements */
#define MAX_CLASS_NAME 32 /* bytes of the name of a class, with its end */

#endif

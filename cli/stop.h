/* Stopping on request: the first SIGINT, SIGTERM or SIGHUP sets a flag, one that comes a second or more
   later ends the program. What comes sooner belongs to the first: launchers send their signal twice. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

const volatile int *stop_on_signals(void); /* the flag; signals that are ignored stay ignored */
void stop_ignore(void);                    /* somebody else decides */
void stop_end(void);                       /* from here on the first signal ends the program */

#endif

/* Ranks over MPI: the module libjointflow-mpi.so, loaded by ranks/module.c where a launcher started the
 * program. It is apart so that neither the library nor the program needs MPI. It computes nothing: sums are
 * the library's, in its order. */
#include "ranks/link.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_BYTES = 1, TAG_BEAT = 2, TAG_ASK = 3, TAG_NUMBER = 4 };

typedef struct mpi_ranks {
    MPI_Comm comm; /* of our own, so that nobody else's messages are among ours */
    int rank, size;
    MPI_Request transfer[2]; /* in, out */
    int expected;            /* bytes that come in */
    MPI_Request sign_out, sign_in;
    char sent, came;         /* signs of life */
    uint64_t next;           /* of rank 0: the number that is taken next */
    int asking;              /* rank 0 for one, */
    MPI_Request question[2]; /* the answer, the question */
    uint64_t answer;
    int finalise; /* MPI was begun here */
} mpi_ranks;

static int failed(int code, const char *what, char *why, size_t room) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_string(code, text, &length);
    snprintf(why, room, "%s: %s", what, text);
    return 1;
}

static void listen_for_sign(mpi_ranks *m) {
    MPI_Irecv(&m->came, 1, MPI_CHAR, (m->rank + m->size - 1) % m->size, TAG_BEAT, m->comm, &m->sign_in);
}

static int start_mpi(mpi_ranks *m, char *why, size_t room) {
    int begun = 0, level;
    MPI_Initialized(&begun);
    if (begun) return 0;
    if (failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread", why, room))
        return 1;
    m->finalise = 1;
    if (level >= MPI_THREAD_FUNNELED) return 0;
    snprintf(why, room, "this MPI does not work in programs with threads");
    return 1;
}

static int join(void **own, int *rank, int *size, char *why, size_t room) {
    mpi_ranks *m = calloc(1, sizeof *m);
    if (!m) {
        snprintf(why, room, "not enough memory");
        return 1;
    }
    if (start_mpi(m, why, room) ||
        failed(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm), "MPI_Comm_dup", why, room)) {
        free(m);
        return 1;
    }
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->comm, &m->rank);
    MPI_Comm_size(m->comm, &m->size);
    m->transfer[0] = m->transfer[1] = m->sign_out = m->sign_in = MPI_REQUEST_NULL;
    m->question[0] = m->question[1] = MPI_REQUEST_NULL;
    if (m->size > 1) listen_for_sign(m);
    *own = m;
    *rank = m->rank;
    *size = m->size;
    return 0;
}

static void leave(void *own) {
    mpi_ranks *m = own;
    MPI_Barrier(m->comm); /* nobody sends signs any more */
    if (m->sign_in != MPI_REQUEST_NULL) {
        MPI_Cancel(&m->sign_in);
        MPI_Wait(&m->sign_in, MPI_STATUS_IGNORE);
    }
    if (m->sign_out != MPI_REQUEST_NULL) MPI_Request_free(&m->sign_out);
    MPI_Comm_free(&m->comm);
    if (m->finalise) MPI_Finalize();
    free(m);
}

static void end(void *own, int status) {
    MPI_Abort(((mpi_ranks *)own)->comm, status);
}

static int begin(void *own, const ranks_transfer *t) {
    mpi_ranks *m = own;
    int code = MPI_SUCCESS;
    m->expected = (int)t->in_bytes;
    if (t->in_bytes)
        code = MPI_Irecv(t->in, (int)t->in_bytes, MPI_BYTE, t->from, TAG_BYTES, m->comm, &m->transfer[0]);
    if (code == MPI_SUCCESS && t->out_bytes)
        code = MPI_Isend(t->out, (int)t->out_bytes, MPI_BYTE, t->to, TAG_BYTES, m->comm, &m->transfer[1]);
    return code != MPI_SUCCESS;
}

static int ended(void *own) {
    mpi_ranks *m = own;
    int all = 0, came = 0;
    MPI_Status statuses[2];
    if (MPI_Testall(2, m->transfer, &all, statuses) != MPI_SUCCESS) return -1;
    if (!all || m->expected == 0) return all;
    MPI_Get_count(&statuses[0], MPI_BYTE,
                  &came); /* one that failed and does something else sends something else */
    return came == m->expected ? 1 : -1;
}

/* Answers are a few bytes, which MPI keeps until they are wanted: rank 0 does not wait. */
static void answer_questions(mpi_ranks *m) {
    MPI_Status status;
    int came = 0;
    while (m->rank == 0 && MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, m->comm, &came, &status) == MPI_SUCCESS &&
           came) {
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, TAG_ASK, m->comm, MPI_STATUS_IGNORE);
        MPI_Send(&m->next, 1, MPI_UINT64_T, status.MPI_SOURCE, TAG_NUMBER, m->comm);
        m->next++;
    }
}

static int take(void *own, uint64_t *number) {
    mpi_ranks *m = own;
    int come = 0;
    if (m->rank == 0) {
        *number = m->next++;
        return 1;
    }
    if (!m->asking &&
        (MPI_Irecv(&m->answer, 1, MPI_UINT64_T, 0, TAG_NUMBER, m->comm, &m->question[0]) != MPI_SUCCESS ||
         MPI_Isend(NULL, 0, MPI_BYTE, 0, TAG_ASK, m->comm, &m->question[1]) != MPI_SUCCESS))
        return -1;
    m->asking = 1;
    if (MPI_Testall(2, m->question, &come, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return -1;
    if (!come) return 0;
    m->asking = 0;
    *number = m->answer;
    return 1;
}

static void beat(void *own, int patience) {
    mpi_ranks *m = own;
    int gone = 0;
    if (m->size == 1) return;
    answer_questions(m);
    if (MPI_Test(&m->sign_out, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS || !gone) return;
    m->sent = (char)patience;
    MPI_Isend(&m->sent, 1, MPI_CHAR, (m->rank + 1) % m->size, TAG_BEAT, m->comm, &m->sign_out);
}

static int heard(void *own) {
    mpi_ranks *m = own;
    int last = -1, came = 0;
    if (m->size == 1) return 0;
    answer_questions(m);
    while (MPI_Test(&m->sign_in, &came, MPI_STATUS_IGNORE) == MPI_SUCCESS && came) {
        last = m->came;
        listen_for_sign(m);
    }
    return last;
}

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)
#ifdef OPEN_MPI
#define NAME                                                                                                 \
    "Open MPI " VALUE(OMPI_MAJOR_VERSION) "." VALUE(OMPI_MINOR_VERSION) "." VALUE(OMPI_RELEASE_VERSION)
#else
#define NAME "MPI " VALUE(MPI_VERSION) "." VALUE(MPI_SUBVERSION)
#endif

extern const ranks_link jointflow_ranks_link;
__attribute__((visibility("default"))) const ranks_link jointflow_ranks_link = {
    .version = RANKS_LINK_VERSION,
    .name = NAME,
    .join = join,
    .leave = leave,
    .end = end,
    .begin = begin,
    .ended = ended,
    .beat = beat,
    .heard = heard,
    .take = take,
};

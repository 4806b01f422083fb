/* JPEG files as another program would write them. */
#ifndef JF_TESTS_JPEG_FIXTURE_H
#define JF_TESTS_JPEG_FIXTURE_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* bytes (h, w, channels): 1 grey, 3 colours, 4 as for printing. */
static inline int jpeg_put(const char *path, int h, int w, int channels, const uint8_t *bytes,
                           int progressive) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "wb");
    if (!file) return 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)w;
    jpeg.image_height = (JDIMENSION)h;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    if (channels == 3) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int i = 0; i < h; i++) {
        JSAMPROW row = (JSAMPROW)bytes + (size_t)i * (size_t)w * (size_t)channels;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return fclose(file) == 0;
}

#endif

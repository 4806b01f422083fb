"""What ctypes has to know of the library. Written by scripts/make-python-bindings from the public headers."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_long,
                    c_size_t, c_ssize_t, c_ubyte, c_uint, c_uint8, c_uint32, c_uint64, c_void_p, sizeof)


class Sized(Structure):
    """A struct that may grow: it begins with its size."""

    def __init__(self, *arguments, **fields):
        super().__init__(*arguments, **fields)
        self.size = sizeof(self)


ABI = 5
JF_WARNING = "warning: "
JF_VERSION = "0.1.0"
JF_VERSION_MAJOR = 0
JF_VERSION_MINOR = 1
JF_VERSION_PATCH = 0
JF_CASCADE_MOST = 8
JF_MAX_TWO_SAMPLE = 16
JF_OK = 0
JF_ERROR_ARGUMENT = -1
JF_ERROR_MEMORY = -2
JF_ERROR_IO = -3
JF_ERROR_FORMAT = -4
JF_ERROR_RECIPE = -5
JF_ERROR_DATA = -6
JF_ERROR_SHAPE = -7
JF_ERROR_DEVICE = -8
JF_ERROR_NUMERIC = -9
JF_ERROR_UNSUPPORTED = -10
JF_ERROR_RANK = -11
JF_STOPPED = 1


jf_log_fn = CFUNCTYPE(None, c_void_p, c_char_p)

class jf_progress(Structure):
    _fields_ = [
        ('phase', c_char_p),
        ('done', c_uint64),
        ('total', c_uint64),
        ('training', c_void_p),
    ]

jf_progress_fn = CFUNCTYPE(c_int, c_void_p, POINTER(jf_progress))

class jf_ranks_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('ranks', c_int),
        ('limit', c_double),
    ]

JF_FLOAT = 1
JF_DOUBLE = 2
class jf_array(Structure):
    _fields_ = [
        ('values', c_void_p),
        ('type', c_int),
        ('rows', c_size_t),
        ('columns', c_size_t),
        ('row_stride', c_ssize_t),
        ('column_stride', c_ssize_t),
    ]

jf_fill_fn = CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p)

class jf_table_request(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('x', c_char_p),
        ('y', c_char_p),
        ('x_columns', c_char_p),
        ('y_columns', c_char_p),
        ('discrete', c_int),
        ('bounds', c_char_p),
        ('data', c_void_p),
        ('ordered', c_int),
    ]

class jf_load_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('device', c_char_p),
        ('threads', c_int),
    ]

class jf_term(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('about', c_char_p),
        ('value', c_double),
        ('part', c_int),
    ]

class jf_training(Structure):
    _fields_ = [
        ('phase', c_char_p),
        ('epoch', c_int64),
        ('epochs', c_int64),
        ('batch', c_int64),
        ('batches', c_int64),
        ('epoch_ended', c_int),
        ('step', c_int64),
        ('term_count', c_size_t),
        ('terms', POINTER(jf_term)),
        ('best', c_double),
        ('rate', c_double),
        ('seconds', c_double),
        ('seconds_left', c_double),
        ('ks_median', c_double),
        ('ks_max', c_double),
        ('held_out', c_double),
        ('best_epoch', c_int64),
        ('model', c_void_p),
    ]

class jf_train_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('folder', c_char_p),
        ('resume', c_int),
        ('changed_data', c_int),
        ('seed', c_uint64),
        ('device', c_char_p),
        ('threads', c_int),
        ('deterministic', c_int),
    ]

class jf_use_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('seed', c_uint64),
        ('standardised', c_int),
        ('straight', c_int),
        ('temperature', c_double),
        ('zero_temperature', c_int),
    ]

class jf_density_summary(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('mean', c_double),
        ('sampler_mean', c_double),
        ('whole_mean', c_double),
        ('y_error', c_double),
        ('log_dy', c_double),
        ('lost', c_int64),
        ('exact', c_int),
        ('outside', c_int64),
    ]

class jf_summary_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('mass_count', c_size_t),
        ('quantile_count', c_size_t),
        ('masses', c_void_p),
        ('quantiles', c_void_p),
    ]

class jf_image_form(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('task', c_char_p),
        ('h', c_int),
        ('w', c_int),
        ('x_channels', c_int),
        ('y_channels', c_int),
        ('channels', c_int),
        ('input_h', c_int),
        ('input_w', c_int),
        ('input_channels', c_int),
        ('masked', c_int),
        ('random', c_int),
        ('data_h', c_int),
        ('data_w', c_int),
    ]

class jf_images(Structure):
    _fields_ = [
        ('values', c_void_p),
        ('count', c_size_t),
        ('h', c_int),
        ('w', c_int),
        ('channels', c_int),
    ]

class jf_image_conditions(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('y', c_void_p),
        ('inputs', jf_images),
        ('whole', jf_images),
    ]

class jf_cascade_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('counts', c_size_t * JF_CASCADE_MOST),
        ('seed', c_uint64),
        ('first', c_uint64),
        ('temperature', c_double),
        ('zero_temperature', c_int),
        ('denoise', c_int),
        ('of_samples', c_int),
        ('together', c_size_t),
    ]

class jf_cascade_result(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('truth', jf_images),
        ('input', jf_images),
        ('steps', c_size_t),
        ('made', jf_images * JF_CASCADE_MOST),
        ('psnr', c_double * JF_CASCADE_MOST),
        ('y_error', c_double),
    ]

class jf_cascade_test(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('test', c_char_p),
        ('test_labels', c_char_p),
        ('most', c_size_t),
    ]

class jf_cascade_class(Structure):
    _fields_ = [
        ('name', c_char * 64),
        ('images', c_int64),
        ('psnr', c_double * JF_CASCADE_MOST),
    ]

class jf_cascade_scores(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('steps', c_size_t),
        ('count', c_size_t),
        ('of', POINTER(jf_cascade_class)),
        ('y_error', c_double),
    ]

class jf_lines(Structure):
    _fields_ = [
        ('rows', c_size_t),
        ('steps', c_size_t),
        ('z', c_void_p),
        ('y', c_void_p),
        ('x', c_void_p),
        ('along_y', c_int),
        ('conditions', c_size_t),
    ]

class jf_grid_cell(Structure):
    _fields_ = [
        ('values', c_void_p),
        ('h', c_int),
        ('w', c_int),
        ('channels', c_int),
        ('boxed', c_int),
    ]

class jf_grid(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('rows', c_size_t),
        ('columns', c_size_t),
        ('cells', POINTER(jf_grid_cell)),
        ('row_labels', POINTER(c_char_p)),
        ('column_labels', POINTER(c_char_p)),
        ('title', c_char_p),
        ('full_range', c_int),
    ]

class jf_judge_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('points', c_size_t),
        ('seed', c_uint64),
        ('denoise', c_int),
        ('inputs', c_size_t),
        ('test', c_char_p),
        ('test_labels', c_char_p),
        ('temperature', c_double),
        ('test_data', c_void_p),
        ('simulate', CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_void_p)),
        ('simulate_user', c_void_p),
        ('cascade', c_void_p),
    ]

class jf_pack_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('half', c_int),
        ('tolerance', c_double),
        ('name', c_char_p),
        ('run', c_char_p),
        ('points', c_size_t),
        ('seed', c_uint64),
        ('threads', c_int),
        ('cascade', c_void_p),
    ]

class jf_two_sample(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('label', c_char_p),
        ('about', c_char_p),
        ('value', c_double),
        ('same', c_double),
        ('limit', c_double),
    ]

class jf_comparison(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('measures', jf_two_sample * JF_MAX_TWO_SAMPLE),
        ('count', c_size_t),
        ('rows', c_size_t),
    ]

class jf_compare_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('rows', c_size_t),
        ('columns', c_size_t),
        ('seed', c_uint64),
        ('threads', c_int),
    ]

class jf_figure_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('folder', c_char_p),
        ('models', POINTER(c_char_p)),
        ('model_count', c_size_t),
        ('seed', c_uint64),
        ('device', c_char_p),
        ('threads', c_int),
        ('model_folder', c_char_p),
        ('fresh', c_int),
        ('quarter_turn', c_int),
    ]

class jf_bench_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('device', c_char_p),
        ('threads', c_int),
        ('batch', c_int64),
        ('seconds', c_double),
        ('profile', c_int),
        ('sample_as_trained', c_int),
    ]

class jf_profile_part(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('calls', c_double),
        ('ms', c_double),
        ('share', c_double),
        ('gflops', c_double),
    ]

class jf_profile(Structure):
    _fields_ = [
        ('parts', POINTER(jf_profile_part)),
        ('count', c_size_t),
        ('ms', c_double),
    ]

class jf_bench_result(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('train_samples_per_s', c_double),
        ('sample_samples_per_s', c_double),
        ('peak_memory_mib', c_double),
        ('batch', c_int64),
        ('steps', c_int64),
        ('parameters', c_size_t),
        ('device', c_char * 96),
        ('train_precision', c_char_p),
        ('sample_precision', c_char_p),
        ('train_profile', jf_profile),
        ('sample_profile', jf_profile),
    ]

class jf_export_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('rows', c_size_t),
        ('seed', c_uint64),
        ('file', c_char_p),
        ('x_file', c_char_p),
        ('y_file', c_char_p),
    ]

class jf_fetch_options(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('folder', c_char_p),
        ('mirrors', POINTER(c_char_p)),
        ('mirror_count', c_size_t),
    ]

class jf_table(Structure):
    _fields_ = [
        ('values', c_void_p),
        ('rows', c_size_t),
        ('columns', c_size_t),
    ]

class jf_groups(Sized):
    _fields_ = [
        ('size', c_size_t),
        ('count', c_size_t),
        ('each', c_size_t),
        ('labels', POINTER(c_char_p)),
        ('values', c_void_p),
        ('value_label', c_char_p),
        ('title', c_char_p),
    ]

# name: what it returns, what it takes
FUNCTIONS = {
    'jf_status_name': (c_char_p, (c_int,)),
    'jf_status_text': (c_char_p, (c_int,)),
    'jf_context_create': (c_int, (POINTER(c_void_p),)),
    'jf_context_free': (None, (c_void_p,)),
    'jf_context_set_log': (None, (c_void_p, jf_log_fn, c_void_p)),
    'jf_context_set_progress': (None, (c_void_p, jf_progress_fn, c_void_p)),
    'jf_context_name_option': (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    'jf_option_name': (c_char_p, (c_int,)),
    'jf_context_error': (c_char_p, (c_void_p,)),
    'jf_version': (c_char_p, ()),
    'jf_version_check': (c_int, (c_int, c_int, c_int)),
    'jf_text_free': (None, (c_void_p,)),
    'jf_ranks_join': (c_int, (c_void_p, POINTER(jf_ranks_options))),
    'jf_ranks_rank': (c_int, (c_void_p,)),
    'jf_ranks_size': (c_int, (c_void_p,)),
    'jf_ranks_have_failed': (c_int, (c_void_p,)),
    'jf_ranks_set_apart': (c_int, (c_void_p, c_int)),
    'jf_ranks_take': (c_int, (c_void_p, c_void_p)),
    'jf_ranks_sum': (c_int, (c_void_p, c_void_p, c_size_t)),
    'jf_ranks_same': (c_int, (c_void_p, c_char_p, c_char_p)),
    'jf_ranks_end': (None, (c_void_p, c_int)),
    'jf_data_create': (c_int, (POINTER(c_void_p), c_void_p, POINTER(jf_array), POINTER(jf_array))),
    'jf_data_fill': (c_int, (POINTER(c_void_p), c_void_p, c_size_t, c_size_t, c_size_t, jf_fill_fn, c_void_p)),
    'jf_data_set_names': (c_int, (c_void_p, POINTER(c_char_p))),
    'jf_data_set_classes': (c_int, (c_void_p, POINTER(c_char_p), c_size_t)),
    'jf_data_set_y_shape': (c_int, (c_void_p, c_void_p, c_size_t)),
    'jf_data_on_release': (None, (c_void_p, CFUNCTYPE(None, c_void_p), c_void_p)),
    'jf_data_free': (None, (c_void_p,)),
    'jf_recipe_load': (c_int, (POINTER(c_void_p), c_void_p, c_char_p)),
    'jf_recipe_parse': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_char_p)),
    'jf_recipe_for_table': (c_int, (POINTER(c_void_p), c_void_p, POINTER(jf_table_request))),
    'jf_recipe_set': (c_int, (c_void_p, c_char_p, c_char_p)),
    'jf_recipe_get': (c_char_p, (c_void_p, c_char_p)),
    'jf_recipe_set_data': (c_int, (c_void_p, c_void_p)),
    'jf_recipe_text': (c_int, (POINTER(c_void_p), c_void_p, c_int)),
    'jf_recipe_free': (None, (c_void_p,)),
    'jf_recipe_list': (c_int, (POINTER(c_void_p), c_void_p)),
    'jf_device_name': (c_char_p, (c_int,)),
    'jf_device_summary': (c_char_p, (c_int,)),
    'jf_device_is_missing': (c_int, (c_int, c_void_p, c_size_t)),
    'jf_model_load': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, POINTER(jf_load_options))),
    'jf_model_save': (c_int, (c_void_p, c_char_p)),
    'jf_model_save_half': (c_int, (c_void_p, c_char_p)),
    'jf_model_list': (c_int, (POINTER(c_void_p), c_void_p)),
    'jf_model_find': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_int)),
    'jf_model_set_data': (c_int, (c_void_p, c_void_p)),
    'jf_model_free': (None, (c_void_p,)),
    'jf_model_then': (c_char_p, (c_void_p,)),
    'jf_model_dim_x': (c_int, (c_void_p,)),
    'jf_model_dim_y': (c_int, (c_void_p,)),
    'jf_model_y_shape': (c_int, (c_void_p, c_size_t * 3)),
    'jf_model_classes': (c_int, (c_void_p,)),
    'jf_model_label': (c_double, (c_void_p, c_int)),
    'jf_model_y_of_label': (c_int, (c_void_p, c_double, c_void_p)),
    'jf_model_label_of_y': (c_double, (c_void_p, c_void_p)),
    'jf_model_class_name': (c_char_p, (c_void_p, c_int)),
    'jf_model_column_name': (c_char_p, (c_void_p, c_int)),
    'jf_model_info': (c_int, (POINTER(c_void_p), c_void_p)),
    'jf_model_example': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_char_p)),
    'jf_model_objective': (c_char_p, (c_void_p,)),
    'jf_model_data_set': (c_char_p, (c_void_p,)),
    'jf_model_y_range': (c_int, (c_void_p, c_int, c_void_p, c_void_p)),
    'jf_y_beyond': (c_int, (POINTER(c_void_p), c_void_p, c_void_p)),
    'jf_y_error': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
    'jf_data_rows': (c_int, (c_void_p, c_size_t, c_int, c_uint64, c_void_p, c_void_p, c_void_p)),
    'jf_model_export': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_char_p)),
    'jf_train': (c_int, (POINTER(c_void_p), c_void_p, c_void_p, POINTER(jf_train_options))),
    'jf_sample': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_encode': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_decode': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_denoise': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_density': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, POINTER(jf_density_summary), POINTER(jf_use_options))),
    'jf_summarise': (c_int, (POINTER(c_void_p), c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, POINTER(jf_summary_options))),
    'jf_summary_csv': (c_char_p, (c_void_p,)),
    'jf_summary_json': (c_char_p, (c_void_p,)),
    'jf_summary_text': (c_char_p, (c_void_p,)),
    'jf_summary_free': (None, (c_void_p,)),
    'jf_model_image_form': (c_int, (POINTER(jf_image_form), c_void_p)),
    'jf_images_read': (c_int, (POINTER(jf_images), c_void_p, c_char_p)),
    'jf_images_read_masked': (c_int, (POINTER(jf_images), c_void_p, c_char_p)),
    'jf_images_write': (c_int, (c_void_p, POINTER(jf_images), c_size_t, c_char_p)),
    'jf_images_free': (None, (POINTER(jf_images),)),
    'jf_restore': (c_int, (POINTER(jf_images), c_void_p, c_size_t, c_void_p, c_void_p)),
    'jf_image_answers': (c_int, (c_void_p, POINTER(jf_images), c_void_p, c_void_p)),
    'jf_degrade': (c_int, (POINTER(jf_images), c_void_p, POINTER(jf_images), c_uint64)),
    'jf_data_image': (c_int, (POINTER(jf_images), c_void_p, c_int64, c_int)),
    'jf_image_conditions_create': (c_int, (POINTER(jf_image_conditions), c_void_p, POINTER(jf_images), c_int, c_uint64)),
    'jf_image_conditions_free': (None, (POINTER(jf_image_conditions),)),
    'jf_cascade_create': (c_int, (POINTER(c_void_p), POINTER(c_void_p), c_size_t)),
    'jf_cascade_load': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_void_p, POINTER(jf_load_options))),
    'jf_cascade_model': (c_void_p, (c_void_p, c_size_t)),
    'jf_cascade_free': (None, (c_void_p,)),
    'jf_cascade_enlarge': (c_int, (POINTER(jf_cascade_result), c_void_p, POINTER(jf_images), POINTER(jf_cascade_options))),
    'jf_cascade_write': (c_int, (c_void_p, POINTER(jf_cascade_result), c_char_p, c_int, c_char_p)),
    'jf_cascade_result_free': (None, (POINTER(jf_cascade_result),)),
    'jf_cascade_score': (c_int, (POINTER(jf_cascade_scores), c_void_p, POINTER(jf_cascade_test), POINTER(jf_cascade_options))),
    'jf_cascade_scores_free': (None, (POINTER(jf_cascade_scores),)),
    'jf_lines_along_z': (c_int, (POINTER(jf_lines), c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, POINTER(jf_use_options))),
    'jf_lines_along_y': (c_int, (POINTER(jf_lines), c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_lines_through': (c_int, (POINTER(jf_lines), c_void_p, c_size_t, c_size_t, c_void_p, POINTER(jf_use_options))),
    'jf_lines_between': (c_int, (POINTER(jf_lines), c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_void_p, POINTER(jf_use_options))),
    'jf_lines_draw': (c_int, (c_void_p, POINTER(jf_lines), c_char_p, c_int, c_char_p)),
    'jf_lines_draw_images': (c_int, (c_void_p, POINTER(jf_lines), POINTER(jf_images), c_char_p, c_int, c_char_p)),
    'jf_lines_free': (None, (POINTER(jf_lines),)),
    'jf_grid_draw': (c_int, (c_void_p, POINTER(jf_grid), c_char_p)),
    'jf_draw_image_samples': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_int, c_char_p)),
    'jf_draw_images_of': (c_int, (c_void_p, POINTER(jf_images), c_void_p, c_int, c_char_p)),
    'jf_judge': (c_int, (POINTER(c_void_p), c_void_p, POINTER(jf_judge_options))),
    'jf_judgement_json': (c_char_p, (c_void_p,)),
    'jf_judgement_text': (c_char_p, (c_void_p,)),
    'jf_judgement_free': (None, (c_void_p,)),
    'jf_pack': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, POINTER(jf_pack_options))),
    'jf_report': (c_int, (c_void_p, c_void_p, c_char_p)),
    'jf_compare': (c_int, (POINTER(jf_comparison), c_void_p, c_void_p, c_void_p, POINTER(jf_compare_options))),
    'jf_figure_name': (c_char_p, (c_int,)),
    'jf_figure_summary': (c_char_p, (c_int,)),
    'jf_figure': (c_int, (c_void_p, c_char_p, POINTER(jf_figure_options))),
    'jf_bench': (c_int, (POINTER(jf_bench_result), c_void_p, c_void_p, POINTER(jf_bench_options))),
    'jf_bench_result_free': (None, (POINTER(jf_bench_result),)),
    'jf_data_list': (c_int, (POINTER(c_void_p), c_void_p)),
    'jf_data_export': (c_int, (c_void_p, c_char_p, POINTER(jf_export_options))),
    'jf_data_posterior': (c_int, (c_void_p, c_char_p, c_size_t, c_size_t, c_void_p, POINTER(jf_export_options))),
    'jf_data_check': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_void_p)),
    'jf_data_fetch': (c_int, (POINTER(c_void_p), c_void_p, c_char_p, POINTER(jf_fetch_options))),
    'jf_table_read': (c_int, (POINTER(jf_table), c_void_p, c_char_p)),
    'jf_table_read_for': (c_int, (POINTER(jf_table), c_void_p, c_char_p, c_size_t, c_size_t)),
    'jf_table_write': (c_int, (c_void_p, POINTER(jf_table), POINTER(c_char_p), c_char_p)),
    'jf_table_write_for': (c_int, (POINTER(jf_table), c_void_p, POINTER(c_char_p), c_void_p, c_char_p)),
    'jf_table_free': (None, (POINTER(jf_table),)),
    'jf_draw_samples': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_char_p)),
    'jf_draw_corner': (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_char_p)),
    'jf_draw_groups': (c_int, (c_void_p, POINTER(jf_groups), c_char_p)),
}

// What the same work costs in plain C, to be measured in the same run, and what a process is asked about itself.

#ifndef CBASELINE_H
#define CBASELINE_H

#include "baseline_codec.h"
#include "baseline_counts.h"
#include "baseline_heads.h"
#include "baseline_stream.h"
#include "baseline_lane.h"
#include "baseline_images.h"
#include "baseline_process.h"
#include "baseline_senders.h"
#include "baseline_transport.h"

#endif

#if !__has_include(<xcb/xcb.h>) || !__has_include(<xcb/shm.h>) || !__has_include(<xcb/damage.h>) \
    || !__has_include(<xcb/xfixes.h>) || !__has_include(<xcb/randr.h>) || !__has_include(<xcb/xinput.h>)
#error "xcb is incomplete: apt-get install libxcb1-dev libxcb-{shm,damage,xfixes,randr}0-dev libxcb-xinput-dev"
#else
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xfixes.h>
#include <xcb/xinput.h>
#endif

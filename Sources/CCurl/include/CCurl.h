// libcurl as a module; the shims give its variadic calls a type each.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

#endif

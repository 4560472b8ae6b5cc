// Marks what the library shows; everything else is compiled with hidden visibility.
#pragma once

#if defined(_WIN32)
#if defined(JITNEY_BUILDING)
#define JITNEY_API __declspec(dllexport)
#else
#define JITNEY_API __declspec(dllimport)
#endif
#else
#define JITNEY_API __attribute__((visibility("default")))
#endif

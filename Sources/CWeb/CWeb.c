#include "CWeb.h"

// clang supports #embed since version 19, and warns that it is an extension in versions of C before C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char inbox_html[] = {
#embed "web/inbox.html"
};
static const unsigned char phone_html[] = {
#embed "web/phone.html"
};
static const unsigned char icon_svg[] = {
#embed "web/icon.svg"
};
static const unsigned char base_css[] = {
#embed "web/base.css"
};
static const unsigned char bubbles_css[] = {
#embed "web/bubbles.css"
};
static const unsigned char inbox_css[] = {
#embed "web/inbox.css"
};
static const unsigned char phone_css[] = {
#embed "web/phone.css"
};
static const unsigned char api_js[] = {
#embed "web/api.js"
};
static const unsigned char bubbles_js[] = {
#embed "web/bubbles.js"
};
static const unsigned char cards_js[] = {
#embed "web/cards.js"
};
static const unsigned char composer_js[] = {
#embed "web/composer.js"
};
static const unsigned char desk_js[] = {
#embed "web/desk.js"
};
static const unsigned char dialogs_js[] = {
#embed "web/dialogs.js"
};
static const unsigned char dom_js[] = {
#embed "web/dom.js"
};
static const unsigned char frame_js[] = {
#embed "web/frame.js"
};
static const unsigned char inbox_js[] = {
#embed "web/inbox.js"
};
static const unsigned char list_js[] = {
#embed "web/list.js"
};
static const unsigned char media_types_js[] = {
#embed "web/media-types.js"
};
static const unsigned char phone_bubbles_js[] = {
#embed "web/phone-bubbles.js"
};
static const unsigned char phone_detail_js[] = {
#embed "web/phone-detail.js"
};
static const unsigned char phone_dialogs_js[] = {
#embed "web/phone-dialogs.js"
};
static const unsigned char phone_form_js[] = {
#embed "web/phone-form.js"
};
static const unsigned char phone_offer_js[] = {
#embed "web/phone-offer.js"
};
static const unsigned char phone_pattern_js[] = {
#embed "web/phone-pattern.js"
};
static const unsigned char phone_scenario_js[] = {
#embed "web/phone-scenario.js"
};
static const unsigned char phone_session_js[] = {
#embed "web/phone-session.js"
};
static const unsigned char phone_sheets_js[] = {
#embed "web/phone-sheets.js"
};
static const unsigned char phone_thread_js[] = {
#embed "web/phone-thread.js"
};
static const unsigned char phone_timeline_js[] = {
#embed "web/phone-timeline.js"
};
static const unsigned char phone_js[] = {
#embed "web/phone.js"
};
static const unsigned char reactions_js[] = {
#embed "web/reactions.js"
};
static const unsigned char stream_js[] = {
#embed "web/stream.js"
};
static const unsigned char text_js[] = {
#embed "web/text.js"
};
static const unsigned char thread_js[] = {
#embed "web/thread.js"
};

static const struct {
    const char *name;
    const unsigned char *bytes;
    unsigned int size;
} files[] = {
    { "inbox.html", inbox_html, sizeof inbox_html },
    { "phone.html", phone_html, sizeof phone_html },
    { "icon.svg", icon_svg, sizeof icon_svg },
    { "base.css", base_css, sizeof base_css },
    { "bubbles.css", bubbles_css, sizeof bubbles_css },
    { "inbox.css", inbox_css, sizeof inbox_css },
    { "phone.css", phone_css, sizeof phone_css },
    { "api.js", api_js, sizeof api_js },
    { "bubbles.js", bubbles_js, sizeof bubbles_js },
    { "cards.js", cards_js, sizeof cards_js },
    { "composer.js", composer_js, sizeof composer_js },
    { "desk.js", desk_js, sizeof desk_js },
    { "dialogs.js", dialogs_js, sizeof dialogs_js },
    { "dom.js", dom_js, sizeof dom_js },
    { "frame.js", frame_js, sizeof frame_js },
    { "inbox.js", inbox_js, sizeof inbox_js },
    { "list.js", list_js, sizeof list_js },
    { "media-types.js", media_types_js, sizeof media_types_js },
    { "phone-bubbles.js", phone_bubbles_js, sizeof phone_bubbles_js },
    { "phone-detail.js", phone_detail_js, sizeof phone_detail_js },
    { "phone-dialogs.js", phone_dialogs_js, sizeof phone_dialogs_js },
    { "phone-form.js", phone_form_js, sizeof phone_form_js },
    { "phone-offer.js", phone_offer_js, sizeof phone_offer_js },
    { "phone-pattern.js", phone_pattern_js, sizeof phone_pattern_js },
    { "phone-scenario.js", phone_scenario_js, sizeof phone_scenario_js },
    { "phone-session.js", phone_session_js, sizeof phone_session_js },
    { "phone-sheets.js", phone_sheets_js, sizeof phone_sheets_js },
    { "phone-thread.js", phone_thread_js, sizeof phone_thread_js },
    { "phone-timeline.js", phone_timeline_js, sizeof phone_timeline_js },
    { "phone.js", phone_js, sizeof phone_js },
    { "reactions.js", reactions_js, sizeof reactions_js },
    { "stream.js", stream_js, sizeof stream_js },
    { "text.js", text_js, sizeof text_js },
    { "thread.js", thread_js, sizeof thread_js },
};

unsigned int balloon_web_files(void) { return sizeof files / sizeof files[0]; }

unsigned char balloon_web_name_byte(unsigned int file, unsigned int index) {
    if (file >= balloon_web_files()) return 0;
    for (unsigned int i = 0; i < index; i++) {
        if (!files[file].name[i]) return 0;
    }
    return (unsigned char)files[file].name[index];
}

unsigned int balloon_web_size(unsigned int file) { return file < balloon_web_files() ? files[file].size : 0; }

unsigned char balloon_web_byte(unsigned int file, unsigned int index) {
    return index < balloon_web_size(file) ? files[file].bytes[index] : 0;
}

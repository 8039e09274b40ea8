#include "CWeb.h"
#include "EmbeddedFiles.h"

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
static const unsigned char phone_sheets_css[] = {
#embed "web/phone-sheets.css"
};
static const unsigned char alerts_js[] = {
#embed "web/alerts.js"
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
static const unsigned char customer_js[] = {
#embed "web/customer.js"
};
static const unsigned char saved_js[] = {
#embed "web/saved.js"
};
static const unsigned char report_js[] = {
#embed "web/report.js"
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
static const unsigned char phone_extras_js[] = {
#embed "web/phone-extras.js"
};
static const unsigned char phone_form_js[] = {
#embed "web/phone-form.js"
};
static const unsigned char phone_offer_js[] = {
#embed "web/phone-offer.js"
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

static const struct balloon_file files[] = {
    BALLOON_FILE("inbox.html", inbox_html),
    BALLOON_FILE("phone.html", phone_html),
    BALLOON_FILE("icon.svg", icon_svg),
    BALLOON_FILE("base.css", base_css),
    BALLOON_FILE("bubbles.css", bubbles_css),
    BALLOON_FILE("inbox.css", inbox_css),
    BALLOON_FILE("phone.css", phone_css),
    BALLOON_FILE("phone-sheets.css", phone_sheets_css),
    BALLOON_FILE("alerts.js", alerts_js),
    BALLOON_FILE("api.js", api_js),
    BALLOON_FILE("bubbles.js", bubbles_js),
    BALLOON_FILE("cards.js", cards_js),
    BALLOON_FILE("composer.js", composer_js),
    BALLOON_FILE("customer.js", customer_js),
    BALLOON_FILE("saved.js", saved_js),
    BALLOON_FILE("report.js", report_js),
    BALLOON_FILE("desk.js", desk_js),
    BALLOON_FILE("dialogs.js", dialogs_js),
    BALLOON_FILE("dom.js", dom_js),
    BALLOON_FILE("frame.js", frame_js),
    BALLOON_FILE("inbox.js", inbox_js),
    BALLOON_FILE("list.js", list_js),
    BALLOON_FILE("media-types.js", media_types_js),
    BALLOON_FILE("phone-bubbles.js", phone_bubbles_js),
    BALLOON_FILE("phone-detail.js", phone_detail_js),
    BALLOON_FILE("phone-dialogs.js", phone_dialogs_js),
    BALLOON_FILE("phone-extras.js", phone_extras_js),
    BALLOON_FILE("phone-form.js", phone_form_js),
    BALLOON_FILE("phone-offer.js", phone_offer_js),
    BALLOON_FILE("phone-scenario.js", phone_scenario_js),
    BALLOON_FILE("phone-session.js", phone_session_js),
    BALLOON_FILE("phone-sheets.js", phone_sheets_js),
    BALLOON_FILE("phone-thread.js", phone_thread_js),
    BALLOON_FILE("phone-timeline.js", phone_timeline_js),
    BALLOON_FILE("phone.js", phone_js),
    BALLOON_FILE("reactions.js", reactions_js),
    BALLOON_FILE("stream.js", stream_js),
    BALLOON_FILE("text.js", text_js),
    BALLOON_FILE("thread.js", thread_js),
};

unsigned int balloon_web_files(void) { return sizeof files / sizeof files[0]; }

unsigned char balloon_web_name_byte(unsigned int file, unsigned int index) {
    if (file >= balloon_web_files()) return 0;
    for (unsigned int i = 0; i < index; i++) {
        if (!files[file].name[i]) return 0;
    }
    return (unsigned char)files[file].name[index];
}

BALLOON_FILES(balloon_web, unsigned int)

// The samples of config/handlers that `balloon init` writes, which the compiler puts into the program.
#ifndef CTEMPLATES_H
#define CTEMPLATES_H

// The files, in the order of their numbers.
enum __attribute__((enum_extensibility(closed))) HandlerTemplate {
    HandlerTemplatePythonShop,
    HandlerTemplatePythonLibrary,
    HandlerTemplateNodeShop,
    HandlerTemplateNodeLibrary,
    HandlerTemplateShellShop,
    HandlerTemplateSwiftPackage,
    HandlerTemplateSwiftMain,
    HandlerTemplateSwiftShop,
};

// The number of bytes of a file; 0 for an unknown number.
unsigned int balloon_template_size(enum HandlerTemplate file);

// The byte at `index` of a file; 0 behind the file's end.
unsigned char balloon_template_byte(enum HandlerTemplate file, unsigned int index);

#endif

// The files of the web pages, which the compiler puts into the program.
#ifndef CWEB_H
#define CWEB_H

// The number of files.
unsigned int balloon_web_files(void);

// The byte at `index` of a file's name; 0 behind the name's end. Files are numbered from 0.
unsigned char balloon_web_name_byte(unsigned int file, unsigned int index);

// The number of bytes of a file.
unsigned int balloon_web_size(unsigned int file);

// The byte at `index` of a file; 0 behind the file's end.
unsigned char balloon_web_byte(unsigned int file, unsigned int index);

#endif

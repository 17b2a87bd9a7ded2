/*-------------------------------------------------------------------------
 *
 * rfc3339.c
 *		Timestamps as Sayiir's snapshots spell them.
 *
 * The server's own timestamp input depends on settings of the session and
 * takes far more than RFC 3339; a snapshot must mean the same to everybody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "rfc3339.h"

/* days from 1 March of year 0 to PostgreSQL's epoch */
#define DAYS_TO_POSTGRES_EPOCH	730425

/* a text that is being read from left to right */
typedef struct Scan
{
	const char *at;
	const char *end;
} Scan;

static bool scan_digits(Scan *scan, int count, int *value);
static bool scan_char(Scan *scan, const char *any_of);
static bool scan_fraction(Scan *scan, int *usecs);
static bool scan_offset(Scan *scan, int *minutes);
static int	days_in_month(int year, int month);
static int	day_number(int year, int month, int day);

/*
 * rfc3339_parse reads a date-time of RFC 3339: a "T", "t" or space between date
 * and time, up to nine fractional digits (half a microsecond rounds up), "Z",
 * "z" or an offset; a leap second is the first of the next minute. Years 1 to
 * 9999. The text needs no NUL. Returns false when it is anything else.
 */
bool
rfc3339_parse(const char *text, int len, TimestampTz *result)
{
	Scan		scan = {text, text + len};
	int			year,
				month,
				day,
				hour,
				minute,
				second,
				usecs,
				offset;
	int64		seconds;

	if (!scan_digits(&scan, 4, &year) || !scan_char(&scan, "-") ||
		!scan_digits(&scan, 2, &month) || !scan_char(&scan, "-") ||
		!scan_digits(&scan, 2, &day) || !scan_char(&scan, "Tt ") ||
		!scan_digits(&scan, 2, &hour) || !scan_char(&scan, ":") ||
		!scan_digits(&scan, 2, &minute) || !scan_char(&scan, ":") ||
		!scan_digits(&scan, 2, &second) ||
		!scan_fraction(&scan, &usecs) ||
		!scan_offset(&scan, &offset) ||
		scan.at != scan.end)
		return false;

	if (year < 1 || month < 1 || month > 12 ||
		day < 1 || day > days_in_month(year, month) ||
		hour > 23 || minute > 59 || second > 60)
		return false;

	seconds = (int64) day_number(year, month, day) * SECS_PER_DAY +
		hour * SECS_PER_HOUR + (minute - offset) * SECS_PER_MINUTE + second;
	*result = seconds * USECS_PER_SEC + usecs;
	return true;
}

/*
 * rfc3339_format writes "at" (finite, years 1 to 9999) in UTC, with
 * microseconds, to a buffer of RFC3339_BUFFER bytes.
 */
void
rfc3339_format(TimestampTz at, char *buffer)
{
	int64		days = at / USECS_PER_DAY;
	int64		rest = at % USECS_PER_DAY;
	int			leap_days,
				era,
				year,
				month,
				day,
				seconds;

	if (rest < 0)
	{
		rest += USECS_PER_DAY;
		days--;
	}

	/*
	 * From the number of the day to its date, in years that begin on 1 March,
	 * so that a leap day comes last.
	 */
	days += DAYS_TO_POSTGRES_EPOCH;
	if (days < 306 || days > INT64CONST(3652364))
		elog(ERROR, "timestamp out of the range of RFC 3339");
	era = (int) (days / 146097);
	day = (int) (days % 146097);	/* of this era of 400 years */
	leap_days = day / 1460 - day / 36524 + day / 146096;
	year = (day - leap_days) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5 - 1;
	month += month < 10 ? 3 : -9;
	year += 400 * era + (month <= 2 ? 1 : 0);

	seconds = (int) (rest / USECS_PER_SEC);
	snprintf(buffer, RFC3339_BUFFER, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
			 year, month, day,
			 seconds / SECS_PER_HOUR, seconds / SECS_PER_MINUTE % 60, seconds % 60,
			 (int) (rest % USECS_PER_SEC));
}

/*
 * unix_seconds returns the whole seconds from 1970 to "at", never negative.
 */
int64
unix_seconds(TimestampTz at)
{
	int64		seconds = at / USECS_PER_SEC - (at % USECS_PER_SEC < 0 ? 1 : 0);

	seconds += (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (int64) SECS_PER_DAY;
	return Max(seconds, 0);
}

/*
 * scan_digits takes exactly "count" digits.
 */
static bool
scan_digits(Scan *scan, int count, int *value)
{
	*value = 0;
	for (; count > 0; count--)
	{
		if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9')
			return false;
		*value = *value * 10 + (*scan->at++ - '0');
	}
	return true;
}

/*
 * scan_char takes one character of those in any_of.
 */
static bool
scan_char(Scan *scan, const char *any_of)
{
	if (scan->at == scan->end || *scan->at == '\0' ||
		strchr(any_of, *scan->at) == NULL)
		return false;
	scan->at++;
	return true;
}

/*
 * scan_fraction takes a point with one to nine digits, or nothing. The
 * microseconds can be a whole second after rounding.
 */
static bool
scan_fraction(Scan *scan, int *usecs)
{
	int			nanos = 0;
	int			digits = 0;
	int			digit;

	*usecs = 0;
	if (!scan_char(scan, "."))
		return true;
	while (scan_digits(scan, 1, &digit))
	{
		if (++digits > 9)
			return false;
		nanos = nanos * 10 + digit;
	}
	if (digits == 0)
		return false;
	for (; digits < 9; digits++)
		nanos *= 10;
	*usecs = (nanos + 500) / 1000;
	return true;
}

/*
 * scan_offset takes "Z" or the offset from UTC.
 */
static bool
scan_offset(Scan *scan, int *minutes)
{
	bool		west;
	int			hour,
				minute;

	*minutes = 0;
	if (scan_char(scan, "Zz"))
		return true;
	west = scan_char(scan, "-");
	if (!west && !scan_char(scan, "+"))
		return false;
	if (!scan_digits(scan, 2, &hour) || !scan_char(scan, ":") ||
		!scan_digits(scan, 2, &minute) || hour > 23 || minute > 59)
		return false;
	*minutes = (hour * 60 + minute) * (west ? -1 : 1);
	return true;
}

/*
 * days_in_month returns the last day of this month.
 */
static int
days_in_month(int year, int month)
{
	static const int8 days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
		return 29;
	return days[month - 1];
}

/*
 * day_number returns the days from PostgreSQL's epoch to this date of the
 * Gregorian calendar.
 */
static int
day_number(int year, int month, int day)
{
	/* years begin on 1 March here, so that a leap day comes last */
	if (month <= 2)
	{
		year--;
		month += 12;
	}
	return 365 * year + year / 4 - year / 100 + year / 400 +
		(153 * (month - 3) + 2) / 5 + day - 1 - DAYS_TO_POSTGRES_EPOCH;
}

/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "plugin/output/endpoint.h"

#define SCHEME "ipc://"

static char *ingest_endpoint;

/* Puts the database's oid in the place of each %d. False for another escape. */
static bool
expand(const char *endpoint, Oid database, StringInfo path)
{
	for (const char *c = endpoint + strlen(SCHEME); *c != '\0'; c++)
	{
		if (*c != '%')
			appendStringInfoChar(path, *c);
		else if (c[1] == 'd' || c[1] == '%')
		{
			if (*++c == 'd')
				appendStringInfo(path, "%u", database);
			else
				appendStringInfoChar(path, '%');
		}
		else
			return false;
	}
	return true;
}

static bool
check_endpoint(char **value, void **extra, GucSource source)
{
	StringInfoData path;
	bool is_valid;

	if (**value == '\0')
		return true;
	if (strncmp(*value, SCHEME "/", strlen(SCHEME) + 1) != 0)
	{
		GUC_check_errdetail("It must be ipc:// and an absolute path.");
		return false;
	}
	initStringInfo(&path);
	is_valid = expand(*value, OID_MAX, &path);
	if (!is_valid)
		GUC_check_errdetail("After %% comes d, for the oid of the database, or %%.");
	else if (path.len >= (int)sizeof(((struct sockaddr_un *)0)->sun_path))
	{
		GUC_check_errdetail("The path of a Unix socket has at most %zu bytes.",
							sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		is_valid = false;
	}
	pfree(path.data);
	return is_valid;
}

void
varve_endpoint_define(void)
{
	DefineCustomStringVariable(
		"varve.ingest_endpoint", "Where the output plugin sends changes with transport=zmq.",
		"ipc:// and the path of varved's ingest socket; %d is the database's oid.",
		&ingest_endpoint, "", PGC_SIGHUP, 0, check_endpoint, NULL, NULL);
}

static void
probe(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int failure = 0;

	if (fd < 0)
		ereport(ERROR, (errcode_for_socket_access(), errmsg("could not create a socket: %m")));
	strlcpy(address.sun_path, path, sizeof(address.sun_path));
	/* EAGAIN is a full backlog: somebody is there. */
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno != EAGAIN)
		failure = errno;
	close(fd);
	errno = failure;
	if (failure != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("could not connect to varve.ingest_endpoint \"%s\": %m", path),
			 errhint("Start varved before, as a user whose socket the server may open, and give "
					 "both the same endpoint; or use transport \"stream\".")));
}

char *
varve_endpoint_path(void)
{
	StringInfoData path;

	if (ingest_endpoint == NULL || *ingest_endpoint == '\0')
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("transport \"zmq\" needs the setting varve.ingest_endpoint"),
						errhint("Set it in the configuration file, or use transport \"stream\".")));
	initStringInfo(&path);
	(void)expand(ingest_endpoint, MyDatabaseId, &path);
	probe(path.data);
	return path.data;
}

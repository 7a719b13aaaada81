package tidegate.messages.client;

import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The command line.
 *
 * @param url where requests go
 * @param series what is sent, or null for a line on standard input for each series
 * @param security of messages
 * @param keys folder of the keys for {@code wss}, or null
 * @param ca PEM file of the certificate that a server of HTTPS must present, or null for any
 */
record Arguments(URI url, Series series, Messages security, String keys, String ca) {
    private static final String OF_SERIES = "--requests N --clients C --payload BYTES"
            + " --connection keep|resumed|new";
    static final String USAGE = "--url URL [" + OF_SERIES
            + "] [--security none|soap|wss] [--keys FOLDER] [--ca FILE]; without --requests each line"
            + " of standard input is a series: " + OF_SERIES;

    private static final List<String> KNOWN_OF_SERIES =
            List.of("--requests", "--clients", "--payload", "--connection");
    private static final List<String> KNOWN = Stream.concat(KNOWN_OF_SERIES.stream(),
            Stream.of("--url", "--security", "--keys", "--ca")).toList();
    private static final int LARGEST = 4 * 1024 * 1024;

    /** What requests of a client share. */
    enum Connections {
        /** One connection. */
        KEEP,
        /** The session of TLS; each has a connection of its own. */
        RESUMED,
        /** Nothing: each has a connection of its own, with a full handshake of TLS. */
        NEW
    }

    /** What is sent. */
    enum Messages {
        /** The payload itself. */
        NONE,
        /** An envelope without security. */
        SOAP,
        /** An envelope that is signed and encrypted. */
        WSS
    }

    /**
     * Requests that have something in common.
     *
     * @param requests how many, over all clients
     * @param clients how many send at the same time
     * @param payload bytes of a request's payload
     * @param connection what requests share
     */
    record Series(int requests, int clients, int payload, Connections connection) {
        /** @throws IllegalArgumentException naming the argument and its rule */
        static Series parse(String line) {
            return of(pairs(line.strip().split(" +"), KNOWN_OF_SERIES));
        }

        private static Series of(Map<String, String> values) {
            int requests = number(values, "requests", 1, 10_000_000);
            return new Series(requests, number(values, "clients", 1, Math.min(1000, requests)),
                    number(values, "payload", 0, LARGEST),
                    word(Connections.class, "connection", required(values, "connection")));
        }
    }

    /** @throws IllegalArgumentException naming the argument and its rule */
    static Arguments parse(String[] given, Map<String, String> environment) {
        Map<String, String> values = pairs(given, KNOWN);
        Messages security = word(Messages.class, "security", values.getOrDefault("security", "none"));
        String keys = values.getOrDefault("keys", environment.get("MESSAGES_KEYS"));
        if (security == Messages.WSS && keys == null) {
            throw new IllegalArgumentException("--security wss: needs keys; give --keys FOLDER or set"
                    + " MESSAGES_KEYS to a folder with client.crt, client.key and server.crt");
        }
        boolean isOne = KNOWN_OF_SERIES.stream().anyMatch(name -> values.containsKey(name.substring(2)));
        return new Arguments(url(values), isOne ? Series.of(values) : null, security, keys,
                values.get("ca"));
    }

    private static Map<String, String> pairs(String[] given, List<String> known) {
        Map<String, String> values = new HashMap<>();
        for (int index = 0; index < given.length; index += 2) {
            if (!known.contains(given[index])) {
                throw new IllegalArgumentException(given[index] + ": no such argument; the usage is " + USAGE);
            }
            if (index + 1 == given.length) {
                throw new IllegalArgumentException(given[index] + ": has no value; the usage is " + USAGE);
            }
            values.put(given[index].substring(2), given[index + 1]);
        }
        return values;
    }

    private static URI url(Map<String, String> values) {
        String text = required(values, "url");
        URI url;
        try {
            url = URI.create(text);
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("--url " + text + ": " + error.getMessage(), error);
        }
        boolean known = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
        if (!known || url.getHost() == null) {
            throw new IllegalArgumentException("--url " + text
                    + ": must be an absolute URL of http or https; try http://127.0.0.1:8080/small.jsp");
        }
        return url;
    }

    private static String required(Map<String, String> values, String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + ": is missing; the usage is " + USAGE);
        }
        return value;
    }

    private static int number(Map<String, String> values, String name, int least, int most) {
        String text = required(values, name);
        boolean digits = text.matches("\\d{1,9}");
        if (!digits || Integer.parseInt(text) < least || Integer.parseInt(text) > most) {
            throw new IllegalArgumentException("--" + name + " " + text
                    + ": must be a whole number from " + least + " to " + most);
        }
        return Integer.parseInt(text);
    }

    private static <E extends Enum<E>> E word(Class<E> of, String name, String text) {
        for (E constant : of.getEnumConstants()) {
            if (constant.name().toLowerCase(java.util.Locale.ROOT).equals(text)) {
                return constant;
            }
        }
        String words = java.util.Arrays.stream(of.getEnumConstants())
                .map(constant -> constant.name().toLowerCase(java.util.Locale.ROOT))
                .collect(java.util.stream.Collectors.joining(", "));
        throw new IllegalArgumentException("--" + name + " " + text + ": must be one of " + words);
    }
}
